//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// TestListenerSet adds an HTTPS listener with a certificate of its own to a Gateway under load, and takes it away again: it serves while
// it is there, the Gateway's own listener drops nothing, and the count in the Gateway's status follows.
func TestListenerSet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.Gateway(t, "gateway")
	w.Route(t, "own", "gateway", "own.example.com", "echo")
	w.WaitServed(t, address, "own.example.com")
	w.allowListenerSets(t, "gateway")

	run := load.Start(t.Context(), load.Plan{
		URL: "http://" + live.Host(address) + "/", Host: "own.example.com",
		Rate: 100, Workers: 500, Timeout: 5 * time.Second, MaxDuration: 3 * time.Minute,
	})
	set := w.httpsSet(t, "set", "gateway", "set.example.com")
	route := &gwv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: "more"}}
	route.Spec.ParentRefs = []gwv1.ParentReference{{
		Kind: new(gwv1.Kind("ListenerSet")), Name: "set", SectionName: new(gwv1.SectionName("https")),
	}}
	backend := gwv1.HTTPBackendRef{}
	backend.Name, backend.Port = "echo", new(gwv1.PortNumber(80))
	route.Spec.Rules = []gwv1.HTTPRouteRule{{BackendRefs: []gwv1.HTTPBackendRef{backend}}}
	w.Make(t, route)
	w.waitProgrammed(t, set)
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		return live.ServedSecurely(ctx, net.JoinHostPort(address, "8443"), "set.example.com")
	})
	w.waitAttachedSets(t, "gateway", 1)

	if err := w.Delete(t.Context(), set); err != nil {
		t.Fatalf("delete the ListenerSet: %v", err)
	}
	w.waitAttachedSets(t, "gateway", 0)
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		if live.ServedSecurely(ctx, net.JoinHostPort(address, "8443"), "set.example.com") == nil {
			return errors.New("the listener is still there")
		}
		return nil
	})
	result := run.Stop()
	t.Logf("a ListenerSet came and went: %s", result)
	if result.Failed() > 0 || result.Sent == 0 {
		t.Errorf("want requests and no failure: %s", result)
	}
}

// allowListenerSets lets ListenerSets of the same namespace attach to a Gateway.
func (w *fixture) allowListenerSets(t *testing.T, name string) {
	t.Helper()
	gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"allowedListeners":{"namespaces":{"from":"Same"}}}}`))
	if err := w.Patch(t.Context(), gateway, patch); err != nil {
		t.Fatalf("patch gateway %s: %v", name, err)
	}
}

// httpsSet creates a ListenerSet with one HTTPS listener on port 8443, and its certificate.
func (w *fixture) httpsSet(t *testing.T, name, gateway, host string) *gwv1.ListenerSet {
	t.Helper()
	set := &gwv1.ListenerSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gwv1.ListenerSetSpec{
			ParentRef: gwv1.ParentGatewayReference{Name: gwv1.ObjectName(gateway)},
			Listeners: []gwv1.ListenerEntry{{
				Name: "https", Port: 8443, Protocol: gwv1.HTTPSProtocolType, Hostname: new(gwv1.Hostname(host)),
				TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: gwv1.ObjectName(name)}}},
			}},
		},
	}
	w.Make(t, live.TLSSecret(t, name, host), set)
	return set
}

func (w *fixture) waitProgrammed(t *testing.T, set *gwv1.ListenerSet) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return fmt.Errorf("get ListenerSet %s: %w", set.Name, err)
		}
		if !meta.IsStatusConditionTrue(set.Status.Conditions, string(gwv1.ListenerSetConditionProgrammed)) {
			return fmt.Errorf("ListenerSet %s is not programmed: %+v", set.Name, set.Status)
		}
		return nil
	})
}

func (w *fixture) waitAttachedSets(t *testing.T, name string, want int32) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		var gateway gwv1.Gateway
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, &gateway); err != nil {
			return fmt.Errorf("get gateway %s: %w", name, err)
		}
		var got int32
		if attached := gateway.Status.AttachedListenerSets; attached != nil {
			got = *attached
		}
		if got != want {
			return fmt.Errorf("gateway %s counts %d ListenerSets, want %d", name, got, want)
		}
		return nil
	})
}
