//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/test/live"
)

const (
	endpointChanges = 10
	endpointLimit   = time.Second
)

// TestEndpointLatency moves a Service's only endpoint from one pod to another by writing its EndpointSlice, and measures from the
// moment of writing until a request is answered by the new pod. Each change must arrive in under a second.
func TestEndpointLatency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pods := w.Echo(t, "echo", 2)
	slice := endpointSlice("manual", pods[0].Status.PodIP)
	w.Make(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "manual"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}, slice)
	address := w.Gateway(t, "gateway")
	w.Route(t, "manual", "gateway", "manual.example.com", "manual")
	w.WaitServed(t, address, "manual.example.com")

	var times []time.Duration
	for i := range endpointChanges {
		pod := pods[(i+1)%len(pods)]
		slice.Endpoints[0].Addresses = []string{pod.Status.PodIP}
		start := time.Now()
		if err := w.Update(t.Context(), slice); err != nil {
			t.Fatalf("move the endpoint: %v", err)
		}
		live.Eventually(t, 30*time.Second, 2*time.Millisecond, func(ctx context.Context) error {
			got, err := w.Request(ctx, address, "manual.example.com")
			if err == nil && got.Pod != pod.Name {
				return fmt.Errorf("answered by %s, not by %s", got.Pod, pod.Name)
			}
			return err
		})
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	t.Logf("%d endpoint changes: median %s, slowest %s", len(times), times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
	if slowest := times[len(times)-1]; slowest >= endpointLimit {
		t.Errorf("the slowest change took %s, the limit is %s", slowest, endpointLimit)
	}
}

func endpointSlice(service, address string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(live.EchoPort))}},
	}
}
