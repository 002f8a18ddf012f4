//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestAddressRoutability asks for an address inside the cluster: the Gateway serves there and has no other.
func TestAddressRoutability(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "inside", 1)
	w.EchoService(t, "inside")
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "inside"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: live.GatewayClass,
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
			Addresses:        []gwv1.GatewaySpecAddress{{Routability: gwv1.GatewayAddressRoutabilityCluster}},
		},
	}
	w.Make(t, gateway)
	w.Route(t, "route", "inside", "inside.example.com", "inside")
	live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(gateway), gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		if !meta.IsStatusConditionTrue(gateway.Status.Conditions, string(gwv1.GatewayConditionProgrammed)) {
			return fmt.Errorf("it is not programmed: %+v", gateway.Status)
		}
		return nil
	})
	var addresses []string
	for _, address := range gateway.Status.Addresses {
		if address.Routability == nil || *address.Routability != gwv1.GatewayAddressRoutabilityCluster {
			t.Fatalf("its addresses are %+v", gateway.Status.Addresses)
		}
		addresses = append(addresses, address.Value)
	}
	var service corev1.Service
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "inside-" + live.GatewayClass}, &service); err != nil {
		t.Fatalf("get its Service: %v", err)
	}
	if service.Spec.Type != corev1.ServiceTypeClusterIP || !slices.Equal(service.Spec.ClusterIPs, addresses) {
		t.Errorf("its Service is a %s with %v, and the Gateway says %v", service.Spec.Type, service.Spec.ClusterIPs, addresses)
	}
	for _, address := range addresses {
		w.WaitServed(t, address, "inside.example.com")
	}
}
