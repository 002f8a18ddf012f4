package live

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Roll replaces every pod of a Deployment, as `kubectl rollout restart` does.
func (w *Fixture) Roll(t *testing.T, deployment *appsv1.Deployment) {
	t.Helper()
	before := deployment.DeepCopy()
	if deployment.Spec.Template.Annotations == nil {
		deployment.Spec.Template.Annotations = map[string]string{}
	}
	deployment.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = time.Now().Format(time.RFC3339Nano)
	if err := w.Patch(t.Context(), deployment, client.MergeFrom(before)); err != nil {
		t.Fatalf("roll %s: %v", deployment.Name, err)
	}
}

// RollProxies replaces every proxy of a Gateway, and returns when others are ready in their place and the last of them is gone.
func (w *Fixture) RollProxies(t *testing.T, gateway string) time.Duration {
	t.Helper()
	old := w.ProxyNames(t, gateway)
	w.Roll(t, w.fleet(t, gateway))
	return w.WaitProxiesReplaced(t, gateway, old)
}

// WaitProxiesReplaced waits until none of the old proxies is there, and as many new ones are ready.
func (w *Fixture) WaitProxiesReplaced(t *testing.T, gateway string, old map[string]bool) time.Duration {
	t.Helper()
	return w.WaitReplaced(t, proxiesOf(gateway), old)
}

// Evict asks for a proxy to leave, as draining its node does, and returns when another is ready in its place and it is gone.
func (w *Fixture) Evict(t *testing.T, gateway string, pod *corev1.Pod) time.Duration {
	t.Helper()
	eviction := &policyv1.Eviction{}
	if err := w.SubResource("eviction").Create(t.Context(), pod, eviction); err != nil {
		t.Fatalf("evict %s: %v", pod.Name, err)
	}
	return w.WaitReplaced(t, proxiesOf(gateway), map[string]bool{pod.Name: true})
}

// WaitReplaced waits until none of the old pods is there, and as many new ones are ready.
func (w *Fixture) WaitReplaced(t *testing.T, selector client.MatchingLabels, old map[string]bool) time.Duration {
	t.Helper()
	return Eventually(t, 5*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := w.List(ctx, &pods, client.InNamespace(w.Namespace), selector); err != nil {
			return fmt.Errorf("list pods %v: %w", selector, err)
		}
		left, ready := 0, 0
		for i := range pods.Items {
			switch {
			case old[pods.Items[i].Name]:
				left++
			case PodReady(&pods.Items[i]):
				ready++
			}
		}
		if left > 0 || ready < len(old) {
			return fmt.Errorf("%d of %d old pods are left, %d new ones are ready", left, len(old), ready)
		}
		return nil
	})
}

// ProxyNames names the pods of a Gateway's fleet, those on their way out among them.
func (w *Fixture) ProxyNames(t *testing.T, gateway string) map[string]bool {
	t.Helper()
	return w.PodNames(t, proxiesOf(gateway))
}

// PodNames names pods.
func (w *Fixture) PodNames(t *testing.T, selector client.MatchingLabels) map[string]bool {
	t.Helper()
	var pods corev1.PodList
	if err := w.List(t.Context(), &pods, client.InNamespace(w.Namespace), selector); err != nil {
		t.Fatalf("list pods %v: %v", selector, err)
	}
	names := map[string]bool{}
	for i := range pods.Items {
		names[pods.Items[i].Name] = true
	}
	return names
}

// WaitProxies waits until a Gateway has a number of ready proxies, and no other.
func (w *Fixture) WaitProxies(t *testing.T, gateway string, want int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	Eventually(t, 2*time.Minute, 100*time.Millisecond, func(ctx context.Context) (err error) {
		if pods, err = w.Proxies(ctx, gateway); err != nil {
			return err
		}
		ready := 0
		for i := range pods {
			if PodReady(&pods[i]) {
				ready++
			}
		}
		if ready != want || len(pods) != want {
			return fmt.Errorf("%d of %d proxies are ready, want %d", ready, len(pods), want)
		}
		return nil
	})
	return pods
}

// WaitProxiesGone waits until no more pods of a Gateway's fleet are left than that, those on their way out among them.
func (w *Fixture) WaitProxiesGone(t *testing.T, gateway string, most int) time.Duration {
	t.Helper()
	return Eventually(t, 5*time.Minute, 200*time.Millisecond, func(context.Context) error {
		if left := w.ProxyNames(t, gateway); len(left) > most {
			return fmt.Errorf("%d proxies are left: %v", len(left), left)
		}
		return nil
	})
}
