//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestRouteSaysWhatIsWrong makes the mistakes that users make, and reads what their routes say of it.
func TestRouteSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const host = "mistakes.example.com"
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.Make(t, live.ManualService("empty"))
	address := w.Gateway(t, "web")
	first := w.Route(t, "first", "web", host, "echo")
	w.WaitServed(t, address, host)

	second := w.Route(t, "second", "web", host, "echo")
	w.waitSaid(
		t, second, "Accepted", metav1.ConditionTrue,
		"rule 0 gets no requests: rule 0 of HTTPRoute "+w.Namespace+"/first has the same match",
	)

	missing := live.HTTPRoute("missing", "web", "missing.example.com", "gone")
	missing.Spec.Rules = append(missing.Spec.Rules, live.HTTPRoute("x", "web", "", "lost").Spec.Rules...)
	missing.Spec.Rules[1].Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Value: new("/lost")}}}
	w.Make(t, missing)
	w.waitSaid(t, missing, "ResolvedRefs", metav1.ConditionFalse, "rule 0, backend 0: Service "+w.Namespace+"/gone does not exist")
	w.waitSaid(t, missing, "ResolvedRefs", metav1.ConditionFalse, "rule 1, backend 0: Service "+w.Namespace+"/lost does not exist")
	w.waitWarned(t, missing, "BackendNotFound", "rule 1, backend 0")

	typo := live.HTTPRoute("typo", "web", "typo.example.com", "echo")
	typo.Spec.ParentRefs[0].SectionName = new(gwv1.SectionName("htpp"))
	w.Make(t, typo)
	w.waitSaid(t, typo, "Accepted", metav1.ConditionFalse, "it has http (port 80)")
	w.waitSaid(t, typo, "Programmed", metav1.ConditionFalse, "see Accepted")
	w.waitWarned(t, typo, "NoMatchingParent", "it has http (port 80)")

	idle := w.Route(t, "idle", "web", "idle.example.com", "empty")
	w.waitSaid(t, idle, "ResolvedRefs", metav1.ConditionTrue, "Service "+w.Namespace+"/empty has no ready endpoints")
	pods := w.Echo(t, "late", 1)
	w.Make(t, live.EndpointSlice("empty", pods[0].Status.PodIP))
	w.WaitServed(t, address, "idle.example.com")
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		c, err := w.said(ctx, idle, "ResolvedRefs")
		if err == nil && strings.Contains(c.Message, "no ready endpoints") {
			err = fmt.Errorf("the Service has endpoints, and the route says %q", c.Message)
		}
		return err
	})
	w.waitSaid(t, first, "Programmed", metav1.ConditionTrue, "")
	w.waitSaid(t, first, "gatewright.dev/Programmed", metav1.ConditionTrue, "")
}

// TestRouteSaysThatItsBackendTLSPolicyIsBroken has a policy with a ConfigMap that does not exist: requests are answered 503, and
// the route says why.
func TestRouteSaysThatItsBackendTLSPolicyIsBroken(t *testing.T) {
	t.Parallel()
	const host = "policy.example.com"
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.Gateway(t, "web")
	route := w.Route(t, "route", "web", host, "echo")
	w.WaitServed(t, address, host)
	policy := &gwv1.BackendTLSPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "broken"},
		Spec: gwv1.BackendTLSPolicySpec{
			TargetRefs: []gwv1.LocalPolicyTargetReferenceWithSectionName{{
				LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{Kind: "Service", Name: "echo"},
			}},
			Validation: gwv1.BackendTLSPolicyValidation{
				Hostname: "echo.example.com", CACertificateRefs: []gwv1.LocalObjectReference{{Kind: "ConfigMap", Name: "empty"}},
			},
		},
	}
	w.Make(t, policy)
	w.waitSaid(t, route, "ResolvedRefs", metav1.ConditionFalse, "BackendTLSPolicy "+w.Namespace+"/broken")
	w.waitAnswer(t, address, host, http.StatusServiceUnavailable)
	if err := w.Delete(t.Context(), policy); err != nil {
		t.Fatalf("delete the policy: %v", err)
	}
	w.waitSaid(t, route, "ResolvedRefs", metav1.ConditionTrue, "")
	w.WaitServed(t, address, host)
}

// TestGatewaySaysThatAListenerHasNoCertificate has one listener that can serve and one that cannot.
func TestGatewaySaysThatAListenerHasNoCertificate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: live.GatewayClass,
			Listeners: []gwv1.Listener{
				{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType},
				{
					Name: "https", Port: 443, Protocol: gwv1.HTTPSProtocolType,
					TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: "empty"}}},
				},
			},
		},
	}
	w.Programmed(t, gateway)
	accepted := meta.FindStatusCondition(gateway.Status.Conditions, string(gwv1.GatewayConditionAccepted))
	if accepted == nil || accepted.Status != metav1.ConditionTrue || accepted.Reason != string(gwv1.GatewayReasonListenersNotValid) ||
		!strings.Contains(accepted.Message, "https has no usable certificate") {
		t.Errorf("Accepted is %+v", accepted)
	}
	if c := meta.FindStatusCondition(gateway.Status.Conditions, "Programmed"); !strings.Contains(
		c.Message, "https has no usable certificate",
	) {
		t.Errorf("Programmed is %+v", c)
	}
}

// said is a condition of a route at its parent.
func (w *fixture) said(ctx context.Context, route *gwv1.HTTPRoute, condition string) (metav1.Condition, error) {
	if err := w.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
		return metav1.Condition{}, fmt.Errorf("get route %s: %w", route.Name, err)
	}
	for _, parent := range route.Status.Parents {
		if c := meta.FindStatusCondition(parent.Conditions, condition); c != nil && c.ObservedGeneration == route.Generation {
			return *c, nil
		}
	}
	return metav1.Condition{}, fmt.Errorf("route %s has no condition %s: %+v", route.Name, condition, route.Status)
}

func (w *fixture) waitSaid(t *testing.T, route *gwv1.HTTPRoute, condition string, state metav1.ConditionStatus, words string) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		c, err := w.said(ctx, route, condition)
		if err == nil && (c.Status != state || !strings.Contains(c.Message, words)) {
			err = fmt.Errorf("route %s: %s is %s: %s; want %s with %q", route.Name, condition, c.Status, c.Message, state, words)
		}
		return err
	})
}

// waitWarned waits for an event about a route.
func (w *fixture) waitWarned(t *testing.T, route *gwv1.HTTPRoute, reason, words string) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		var events eventsv1.EventList
		if err := w.List(ctx, &events, client.InNamespace(route.Namespace)); err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		for _, e := range events.Items {
			if e.Regarding.UID == route.UID && e.Type == corev1.EventTypeWarning && e.Reason == reason && strings.Contains(e.Note, words) {
				return nil
			}
		}
		return fmt.Errorf("no event about route %s has reason %s and %q", route.Name, reason, words)
	})
}

func (w *fixture) waitAnswer(t *testing.T, address, host string, want int) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		r, err := w.ask(ctx, address, host, "", nil)
		if err == nil && r.status != want {
			err = fmt.Errorf("%s is answered %d, want %d", host, r.status, want)
		}
		return err
	})
}
