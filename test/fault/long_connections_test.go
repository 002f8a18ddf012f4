//go:build fault

package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase52LongConnections keeps WebSockets, gRPC streams, uploads and downloads open on a route without hostnames. Meanwhile the first
// and the last hostname of their ports come and go, and policies, certificates and other routes change. None is cut, also when Envoy has
// drained all that was replaced.
//
//nolint:paralleltest // it can run beside a case that restarts the controllers
func TestCase52LongConnections(t *testing.T) { runIdleCase(t) }

const (
	longGateway = "long"
	longCert    = "long"
	// changeRounds is how often the first hostname comes and the last one goes.
	changeRounds = 10
	// hostedHeader is what a route with a hostname adds to requests.
	hostedHeader = "X-Hosted"
)

func longConnections(t *testing.T) {
	const each = 5
	c := begin(t, "52", "hostnames, policies, certificates and routes change beside long connections")
	w := newLongFixture(t)
	kinds := map[string]longConversation{
		"WebSockets": w.longWebSocket(false), "secure WebSockets": w.longWebSocket(true),
		"gRPC streams": w.longStream, "uploads": w.longUpload, "downloads": w.longDownload,
	}
	// Envoy has drained what the last change replaced well before the end.
	changes := span(230*time.Second, 45*time.Second)
	until := time.Now().Add(changes + longestTimer + 10*time.Second)
	var mu sync.Mutex
	cut := map[string][]error{}
	var group sync.WaitGroup
	began := time.Now()
	for kind, conversation := range kinds {
		for range each {
			group.Go(func() {
				if err := conversation(until); err != nil {
					mu.Lock()
					defer mu.Unlock()
					cut[kind] = append(cut[kind], fmt.Errorf("after %s: %w", rounded(time.Since(began)), err))
				}
			})
		}
	}
	for i := range changeRounds {
		next := began.Add(changes * time.Duration(i+1) / changeRounds)
		w.changeAround(t, i)
		time.Sleep(time.Until(next))
	}
	group.Wait()
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		c.none(len(cut[kind]), fmt.Sprintf("of %d %s cut", each, kind))
		reportSome(t, cut[kind])
	}
	c.note("open for %s", rounded(time.Since(began)))
	c.none(w.Restarts(t, longGateway), "proxy restarts")
}

// newLongFixture has a Gateway for HTTP and HTTPS and one route, without hostnames, to what can go on for long.
func newLongFixture(t *testing.T) *fixture {
	t.Helper()
	w := newCatchAllFixture(t)
	w.serveTransfers(t, "transfers")
	w.serveStreams(t, echoService)
	w.Make(t, live.ManualService("other"))
	certificate, _ := live.KeyPair(t, "other.example.com")
	w.trusted(t, "authority", certificate)
	w.Make(t, live.TLSSecret(t, longCert, anyHost))
	route := catchAll("long", longGateway)
	for prefix, service := range map[string]gwv1.ObjectName{
		"/gatewright.test.Talk/": echoService, "/upload": "transfers", "/download": "transfers",
	} {
		rule := catchAll("", "").Spec.Rules[0]
		rule.BackendRefs[0].Name = service
		rule.Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: new(prefix)}}}
		route.Spec.Rules = append(route.Spec.Rules, rule)
	}
	w.Make(t, route)
	w.address = w.Programmed(t, &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: longGateway},
		Spec: gwv1.GatewaySpec{GatewayClassName: live.GatewayClass, Listeners: []gwv1.Listener{
			{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType},
			{Name: "https", Port: 443, Protocol: gwv1.HTTPSProtocolType, TLS: &gwv1.ListenerTLSConfig{
				CertificateRefs: []gwv1.SecretObjectReference{{Name: longCert}},
			}},
		}},
	})
	w.WaitServed(t, w.address, anyHost)
	w.waitSecure(t, anyHost)
	return w
}

// changeAround changes everything once that long connections must not notice. The only hostname of both ports comes and goes.
func (w *fixture) changeAround(t *testing.T, round int) {
	t.Helper()
	name := fmt.Sprintf("round-%d", round)
	host := name + ".hosted.example.com"
	hosted := live.HTTPRoute(name, longGateway, host, serviceName)
	setHeader(hosted, hostedHeader, name)
	w.Make(t, hosted)
	w.waitHosted(t, host, true)
	policies := []client.Object{
		&gwxv1alpha1.XBackendTrafficPolicy{
			ObjectMeta: w.namespaced(name),
			Spec: gwxv1alpha1.BackendTrafficPolicySpec{
				// Long connections use this one.
				TargetRefs:      []gwv1.LocalPolicyTargetReference{{Kind: "Service", Name: serviceName}},
				RetryConstraint: retryBudget(10 + round),
			},
		},
		backendTLS(w.namespaced(name), "other", "other.example.com", "authority"),
	}
	more := live.HTTPRoute(name+"-more", longGateway, "*."+name+".example.org", "other")
	w.Make(t, append(policies, more)...)
	certificate, key := live.KeyPair(t, anyHost)
	w.rotate(t, longCert, certificate, key)
	w.waitCertificate(t, anyHost, certificate)
	w.edit(t, more, func(route *gwv1.HTTPRoute) { setHeader(route, "X-Round", name) })
	for _, object := range append(policies, more, hosted) {
		if err := w.Delete(t.Context(), object); err != nil {
			t.Fatalf("delete %T %s: %v", object, object.GetName(), err)
		}
	}
	w.waitHosted(t, host, false)
}

// waitHosted waits until a host has a route of its own, or has none and is left to the catch-all route.
func (w *fixture) waitHosted(t *testing.T, host string, want bool) {
	t.Helper()
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		answer, err := w.Request(ctx, w.address, host)
		if err != nil {
			return err
		}
		if hosted := answer.Headers[hostedHeader] != nil; hosted != want {
			return fmt.Errorf("%s has a route of its own: %t, want %t", host, hosted, want)
		}
		return nil
	})
}

// retryBudget allows some percent of requests to be retries.
func retryBudget(percent int) *gwxv1alpha1.RetryConstraint {
	return &gwxv1alpha1.RetryConstraint{
		Budget:       &gwxv1alpha1.BudgetDetails{Percent: new(percent), Interval: new(gwv1.Duration("10s"))},
		MinRetryRate: &gwxv1alpha1.RequestRate{Count: new(1), Interval: new(gwv1.Duration("1s"))},
	}
}

// backendTLS has a Service be spoken to by TLS, with an authority from a ConfigMap.
func backendTLS(meta metav1.ObjectMeta, service, host, authority string) *gwv1.BackendTLSPolicy {
	policy := &gwv1.BackendTLSPolicy{ObjectMeta: meta}
	target := gwv1.LocalPolicyTargetReferenceWithSectionName{}
	target.Kind, target.Name = "Service", gwv1.ObjectName(service)
	policy.Spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{target}
	policy.Spec.Validation = gwv1.BackendTLSPolicyValidation{
		Hostname:          gwv1.PreciseHostname(host),
		CACertificateRefs: []gwv1.LocalObjectReference{{Kind: "ConfigMap", Name: gwv1.ObjectName(authority)}},
	}
	return policy
}

// trusted makes a ConfigMap with a certificate that policies can trust.
func (w *fixture) trusted(t *testing.T, name string, certificate []byte) {
	t.Helper()
	w.Make(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"ca.crt": string(certificate)}})
}
