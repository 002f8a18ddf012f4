//go:build fault

package fault

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase17ConflictingListeners adds listeners to a Gateway that want the port of another for other protocols, and a ListenerSet
// that wants its hostname. Those that come later are refused and say so, and the first go on to serve, as requests all the time
// show.
func TestCase17ConflictingListeners(t *testing.T) {
	t.Parallel()
	c := begin(t, "17", "conflicting listeners")
	w := newFixture(t)
	run := w.startLoad(t, steadyHost)

	losers := []gwv1.Listener{
		{Name: "tcp", Port: 80, Protocol: gwv1.TCPProtocolType},
		{
			Name: "https", Port: 80, Protocol: gwv1.HTTPSProtocolType,
			TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: "missing"}}},
		},
	}
	winners := []gwv1.Listener{{Name: "other", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: new(gwv1.Hostname("other.example.com"))}}
	w.setListeners(t, append(losers, winners...)...)
	c.exactly(w.countConflicted(t, true, "tcp", "https"), "losers are refused", len(losers))
	c.exactly(w.countConflicted(t, false, "http", "other"), "others are not", 2)
	set := &gwv1.ListenerSet{
		ObjectMeta: metav1.ObjectMeta{Name: "late"},
		Spec: gwv1.ListenerSetSpec{
			ParentRef: gwv1.ParentGatewayReference{Name: gatewayName},
			Listeners: []gwv1.ListenerEntry{{Name: "same", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: winners[0].Hostname}},
		},
	}
	w.Make(t, set)
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return fmt.Errorf("get the ListenerSet: %w", err)
		}
		if len(set.Status.Listeners) != 1 || !meta.IsStatusConditionTrue(
			set.Status.Listeners[0].Conditions, string(gwv1.ListenerConditionConflicted),
		) {
			return fmt.Errorf("the listener of the ListenerSet does not conflict: %+v", set.Status)
		}
		return nil
	})
	c.note("so is that of a ListenerSet")
	w.Route(t, "other", gatewayName, "other.example.com", serviceName)
	w.waitHost(t, w.address, "other.example.com")

	w.setListeners(t)
	c.exactly(w.countConflicted(t, false, "http"), "listener is left without conflict", 1)
	c.load(run.Stop())
	c.none(nacks(t, w.OneProxy(t, gatewayName)), "NACKs of the proxy")
}

// setListeners gives the Gateway these listeners beside its first.
func (w *fixture) setListeners(t *testing.T, more ...gwv1.Listener) {
	t.Helper()
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		gateway := &gwv1.Gateway{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: gatewayName}, gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		gateway.Spec.Listeners = append(gateway.Spec.Listeners[:1:1], more...)
		gateway.Spec.AllowedListeners = &gwv1.AllowedListeners{Namespaces: &gwv1.ListenerNamespaces{From: new(gwv1.NamespacesFromSame)}}
		return w.Update(ctx, gateway)
	})
}

// countConflicted waits until listeners say that they conflict with another, or that they do not, and counts them.
func (w *fixture) countConflicted(t *testing.T, conflicted bool, names ...string) int {
	t.Helper()
	count := 0
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		gateway := &gwv1.Gateway{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: gatewayName}, gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		count = 0
		for _, name := range names {
			for _, l := range gateway.Status.Listeners {
				current := meta.FindStatusCondition(l.Conditions, string(gwv1.ListenerConditionConflicted))
				if string(l.Name) == name && current != nil && current.ObservedGeneration == gateway.Generation &&
					meta.IsStatusConditionTrue(l.Conditions, string(gwv1.ListenerConditionConflicted)) == conflicted &&
					meta.IsStatusConditionTrue(l.Conditions, string(gwv1.ListenerConditionAccepted)) == !conflicted {
					count++
				}
			}
		}
		if count != len(names) {
			return fmt.Errorf("of %v, %d conflict: %t; %+v", names, count, conflicted, gateway.Status.Listeners)
		}
		return nil
	})
	return count
}
