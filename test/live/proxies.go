package live

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// proxiesOf selects everything that belongs to the fleet of a Gateway.
func proxiesOf(gateway string) client.MatchingLabels {
	return client.MatchingLabels{"gateway.networking.k8s.io/gateway-name": gateway}
}

// Proxies lists the pods of a Gateway's fleet that are not on their way out.
func (w *Fixture) Proxies(ctx context.Context, gateway string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := w.List(ctx, &pods, client.InNamespace(w.Namespace), proxiesOf(gateway)); err != nil {
		return nil, fmt.Errorf("list the proxies of %s: %w", gateway, err)
	}
	var staying []corev1.Pod
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			staying = append(staying, pods.Items[i])
		}
	}
	return staying, nil
}

// OneProxy is the only proxy of a Gateway.
func (w *Fixture) OneProxy(t *testing.T, gateway string) *corev1.Pod {
	t.Helper()
	pods, err := w.Proxies(t.Context(), gateway)
	if err != nil || len(pods) != 1 {
		t.Fatalf("want one proxy of %s, got %d, %v", gateway, len(pods), err)
	}
	return &pods[0]
}

// ScaleProxies says how many proxies a Gateway should have.
func (w *Fixture) ScaleProxies(t *testing.T, gateway string, replicas int32) {
	t.Helper()
	fleet := w.fleet(t, gateway)
	before := fleet.DeepCopy()
	fleet.Spec.Replicas = &replicas
	if err := w.Patch(t.Context(), fleet, client.MergeFrom(before)); err != nil {
		t.Fatalf("scale the fleet of %s: %v", gateway, err)
	}
}

// fleet is the Deployment of a Gateway's proxies.
func (w *Fixture) fleet(t *testing.T, gateway string) *appsv1.Deployment {
	t.Helper()
	var fleets appsv1.DeploymentList
	if err := w.List(t.Context(), &fleets, client.InNamespace(w.Namespace), proxiesOf(gateway)); err != nil || len(fleets.Items) != 1 {
		t.Fatalf("find the fleet of %s: %d Deployments, %v", gateway, len(fleets.Items), err)
	}
	return &fleets.Items[0]
}

// NewProxy starts one more proxy beside the only one that a Gateway has, waits until it answers a host by itself, and says how long
// that took.
func (w *Fixture) NewProxy(t *testing.T, gateway, host string) (corev1.Pod, time.Duration) {
	t.Helper()
	old := w.OneProxy(t, gateway).Name
	w.ScaleProxies(t, gateway, 2)
	var fresh corev1.Pod
	took := Eventually(t, 2*time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		pods, err := w.Proxies(ctx, gateway)
		if err != nil {
			return err
		}
		for i := range pods {
			if pods[i].Name != old && pods[i].Status.PodIP != "" {
				fresh = pods[i]
				_, err := w.Request(ctx, fresh.Status.PodIP, host)
				return err
			}
		}
		return fmt.Errorf("%d proxies, and none of them is new", len(pods))
	})
	return fresh, took
}

// Restarts counts how often containers of a Gateway's proxies were started again.
func (w *Fixture) Restarts(t *testing.T, gateway string) int {
	t.Helper()
	pods, err := w.Proxies(t.Context(), gateway)
	if err != nil || len(pods) == 0 {
		t.Fatalf("find the proxies of %s: %d, %v", gateway, len(pods), err)
	}
	restarts := 0
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			restarts += int(c.RestartCount)
		}
	}
	return restarts
}
