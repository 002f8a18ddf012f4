//go:build fault

package fault

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

const autoscaled = "autoscaled"

// TestCase30AutoscalerOwnsReplicas gives a fleet with a fixed number of proxies to an autoscaler, changes what it is made of, and kills the
// leader: the number is the autoscaler's all the time. This cluster has no metrics, so the autoscaler only keeps to its bounds; a number
// between them is set as it would.
//
//nolint:paralleltest // it takes the leader from every other case
func TestCase30AutoscalerOwnsReplicas(t *testing.T) {
	c := begin(t, "30", "an autoscaler scales while the fleet changes")
	w := &fixture{Fixture: live.New(t)}
	w.Echo(t, serviceName, 2)
	w.EchoService(t, serviceName)
	gateway, config := live.GatewayWith(autoscaled, v1alpha1.ProxyConfigSpec{Replicas: new(int32(2))})
	w.Make(t, config)
	w.address = w.Programmed(t, gateway)
	w.Route(t, "steady", autoscaled, steadyHost, serviceName)
	w.WaitServed(t, w.address, steadyHost)
	load := w.startLoad(t, steadyHost)

	watch := w.watchReplicas(t)
	watch.expect(2, 2)
	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) {
		s.Replicas, s.Autoscaling = nil, &v1alpha1.Autoscaling{MinReplicas: new(int32(2)), MaxReplicas: 3}
	})
	w.waitReplicas(t, 2)
	watch.expect(2, 3)
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	if err := w.SubResource("scale").Update(t.Context(), w.deployment(autoscaled), client.WithSubResourceBody(scale)); err != nil {
		t.Fatalf("scale the fleet: %v", err)
	}
	w.waitReplicas(t, 3)
	watch.expect(3, 3)
	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) {
		s.Pod = &v1alpha1.Pod{Annotations: map[string]v1alpha1.AnnotationValue{"example.com/rolled": "once"}}
	})
	w.waitReplicas(t, 3)
	leader := w.leaderPod(t)
	w.Kill(t, leader)
	w.WaitControllers(t, 2, map[string]bool{leader.Name: true})
	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) {
		s.Service = &v1alpha1.Service{Annotations: map[string]v1alpha1.AnnotationValue{"a": "b"}}
	})
	// The autoscaler itself lowers the number to its new bound.
	watch.expect(2, 3)
	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) { s.Autoscaling.MaxReplicas = 2 })
	w.waitReplicas(t, 2)
	c.none(watch.stop(), "resets of the number of proxies")
	c.load(load.Stop())
}

func (w *fixture) deployment(gateway string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: gateway + "-" + live.GatewayClass}}
}

// waitReplicas waits until that many proxies of the newest kind are available, and there are no others.
func (w *fixture) waitReplicas(t *testing.T, n int32) {
	t.Helper()
	live.Eventually(t, 3*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		fleet := w.deployment(autoscaled)
		if err := w.Get(ctx, client.ObjectKeyFromObject(fleet), fleet); err != nil {
			return fmt.Errorf("get the fleet: %w", err)
		}
		s := fleet.Status
		if s.ObservedGeneration != fleet.Generation || s.AvailableReplicas != n || s.UpdatedReplicas != n || s.Replicas != n {
			return fmt.Errorf("want %d proxies: %+v", n, s)
		}
		return nil
	})
}
