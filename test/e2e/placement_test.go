//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestPlacement has a class whose proxies run in Gatewright's namespace: the Gateway serves, nothing of the fleet is beside it, and all of the fleet goes with the Gateway,
// which can not own it.
func TestPlacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.waitFor(t, "EndpointSlice", "ConfigMap/kube-root-ca.crt", "ServiceAccount/default")
	before := w.inventory(t)
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "abroad"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: gwv1.ObjectName(w.classWith(t, map[string]any{"placement": "GatewrightNamespace"})),
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
		},
	}
	address := w.Programmed(t, gateway)
	w.Route(t, "route", "abroad", "abroad.example.com", "echo")
	w.WaitServed(t, address, "abroad.example.com")
	if now := w.inventory(t); len(now) != len(before) {
		t.Errorf("the namespace held %v before and holds %v now", before, now)
	}
	made, err := w.abroad(t.Context(), gateway)
	if err != nil || len(made) < 4 {
		t.Fatalf("Gatewright's namespace has %v of the fleet: %v", made, err)
	}
	if err := w.Delete(t.Context(), gateway); err != nil {
		t.Fatalf("delete the Gateway: %v", err)
	}
	took := live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if left, err := w.abroad(ctx, gateway); err != nil || len(left) > 0 {
			return fmt.Errorf("left behind: %v %w", left, err)
		}
		return nil
	})
	t.Logf("%d objects of the Gateway were gone %s after it: %v", len(made), took.Round(time.Millisecond), made)
}

// abroad names everything in Gatewright's namespace that belongs to a Gateway's fleet.
func (w *world) abroad(ctx context.Context, gateway *gwv1.Gateway) ([]string, error) {
	var names []string
	for _, kind := range fleetKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		err := w.List(ctx, list, client.InNamespace(live.ControllerNamespace), client.MatchingLabels{"gatewright.dev/gateway-uid": string(gateway.UID)})
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
func (w *world) classWith(t *testing.T, spec map[string]any) string {
	t.Helper()
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gatewright.dev/v1alpha1", "kind": "ProxyConfig",
		"metadata": map[string]any{"name": "class", "namespace": w.Namespace}, "spec": spec,
	}}
	if err := w.Create(t.Context(), config); err != nil {
		t.Fatalf("create the ProxyConfig: %v", err)
	}
	name := w.class(t, "parameters", live.ControllerName)
	class := &gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil,
		`{"spec":{"parametersRef":{"group":"gatewright.dev","kind":"ProxyConfig","name":"class","namespace":%q}}}`, w.Namespace))
	if err := w.Patch(t.Context(), class, patch); err != nil {
		t.Fatalf("give GatewayClass %s its parameters: %v", name, err)
	}
	return name
}
