//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// TestPlacement has a class whose proxies run in Gatewright's namespace: the Gateway serves, nothing of the fleet is beside it, and all
// of the fleet goes with the Gateway, which cannot own it.
func TestPlacement(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.waitFor(t, "EndpointSlice", "ConfigMap/kube-root-ca.crt", "ServiceAccount/default")
	before := w.inventory(t)
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "placed"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: gwv1.ObjectName(w.classWith(t, map[string]any{"placement": "GatewrightNamespace"})),
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
		},
	}
	address := w.Programmed(t, gateway)
	w.Route(t, "route", "placed", "placed.example.com", "echo")
	w.WaitServed(t, address, "placed.example.com")
	if now := w.inventory(t); len(now) != len(before) {
		t.Errorf("the namespace held %v before and holds %v now", before, now)
	}
	made, err := w.systemObjects(t.Context(), gateway)
	if err != nil || len(made) < 4 {
		t.Fatalf("Gatewright's namespace has %v of the fleet: %v", made, err)
	}
	if err := w.Delete(t.Context(), gateway); err != nil {
		t.Fatalf("delete the Gateway: %v", err)
	}
	took := live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if left, err := w.systemObjects(ctx, gateway); err != nil || len(left) > 0 {
			return fmt.Errorf("left behind: %v %w", left, err)
		}
		return nil
	})
	t.Logf("%d objects of the Gateway were gone %s after it: %v", len(made), took.Round(time.Millisecond), made)
}

// systemObjects names everything in Gatewright's namespace that belongs to a Gateway's fleet.
func (w *fixture) systemObjects(ctx context.Context, gateway *gwv1.Gateway) ([]string, error) {
	var names []string
	for _, kind := range fleetKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		err := w.List(
			ctx, list, client.InNamespace(live.ControllerNamespace), client.MatchingLabels{"gatewright.dev/gateway-uid": string(gateway.UID)},
		)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			names = append(names, kind.Kind+"/"+list.Items[i].Name)
		}
	}
	return names, nil
}

// classWith makes a GatewayClass whose ProxyConfig has that spec, and returns its name.
func (w *fixture) classWith(t *testing.T, spec map[string]any) string {
	t.Helper()
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gatewright.dev/v1alpha1", "kind": "ProxyConfig",
		"metadata": map[string]any{"name": "class", "namespace": w.Namespace}, "spec": spec,
	}}
	if err := w.Create(t.Context(), config); err != nil {
		t.Fatalf("create the ProxyConfig: %v", err)
	}
	name := w.class(t, "parameters", live.ControllerName, &gwv1.ParametersReference{
		Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: "class", Namespace: new(gwv1.Namespace(w.Namespace)),
	})
	// A Gateway must not arrive before its class.
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		class := &gwv1.GatewayClass{}
		if err := w.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
			return fmt.Errorf("read the class: %w", err)
		}
		if !meta.IsStatusConditionTrue(class.Status.Conditions, string(gwv1.GatewayClassConditionStatusAccepted)) {
			return fmt.Errorf("GatewayClass %s is not accepted: %+v", name, class.Status.Conditions)
		}
		return nil
	})
	return name
}
