package live

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/test/clock"
)

// ManualService is a Service whose endpoints the test writes.
func ManualService(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

// EndpointSlice puts one echo pod behind a Service.
func EndpointSlice(service, address string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(EchoPort))}},
	}
}

// MoveEndpoint puts another pod behind a Service, and returns how long it took from then until that pod answered.
func (w *Fixture) MoveEndpoint(t *testing.T, slice *discoveryv1.EndpointSlice, to *corev1.Pod, address, host string) time.Duration {
	t.Helper()
	slice.Endpoints[0].Addresses = []string{to.Status.PodIP}
	start := clock.Now()
	if err := w.Update(t.Context(), slice); err != nil {
		t.Fatalf("move the endpoint: %v", err)
	}
	Eventually(t, 30*time.Second, 2*time.Millisecond, func(ctx context.Context) error {
		got, err := w.Request(ctx, address, host)
		if err == nil && got.Pod != to.Name {
			return fmt.Errorf("answered by %s, not by %s", got.Pod, to.Name)
		}
		return err
	})
	return clock.Since(start)
}
