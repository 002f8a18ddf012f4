//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestDefaultGateway attaches a route that names no Gateway to one that takes such routes, and takes it away when the Gateway no longer
// does. A Gateway of a class that does not allow it says so, and takes none.
func TestDefaultGateway(t *testing.T) {
	t.Parallel()
	const host = "defaulted.example.com"
	w := newFixture(t)
	w.needExperimental(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: gwv1.ObjectName(w.classWith(
				t, map[string]any{"defaultGateways": "Allowed"},
			)), DefaultScope: gwv1.GatewayDefaultScopeAll,
			Listeners: []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
		},
	}
	greedy := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "greedy"}, Spec: *gateway.Spec.DeepCopy()}
	greedy.Spec.GatewayClassName = live.GatewayClass
	w.Programmed(t, greedy)
	if !meta.IsStatusConditionFalse(greedy.Status.Conditions, "DefaultGateway") {
		t.Errorf("the Gateway of a class without default Gateways does not say so: %+v", greedy.Status.Conditions)
	}
	address := w.Programmed(t, gateway)
	if !meta.IsStatusConditionTrue(gateway.Status.Conditions, "DefaultGateway") {
		t.Errorf("the Gateway does not say that it is a default one: %+v", gateway.Status.Conditions)
	}
	route := live.HTTPRoute("defaulted", "", host, "echo")
	route.Spec.CommonRouteSpec = gwv1.CommonRouteSpec{UseDefaultGateways: gwv1.GatewayDefaultScopeAll}
	w.Make(t, route)
	w.WaitServed(t, address, host)
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.RouteAccepted(ctx, route); err != nil {
			return err
		}
		if len(route.Status.Parents) != 1 {
			return fmt.Errorf("the route is attached to %d Gateways: %+v", len(route.Status.Parents), route.Status.Parents)
		}
		if ref := route.Status.Parents[0].ParentRef; ref.Name != "default" || ref.Namespace == nil || string(*ref.Namespace) != w.Namespace {
			return fmt.Errorf("the route is attached to %+v", ref)
		}
		return nil
	})

	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(gateway), gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		gateway.Spec.DefaultScope = gwv1.GatewayDefaultScopeNone
		return w.Update(ctx, gateway)
	})
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
			return fmt.Errorf("get the route: %w", err)
		}
		r, err := w.ask(ctx, address, host, "", nil)
		if err == nil && (r.status != http.StatusNotFound || len(route.Status.Parents) != 0) {
			err = fmt.Errorf("the Gateway is no default one any more: %d, %+v", r.status, route.Status.Parents)
		}
		return err
	})
}
