package live

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/clock"
)

// leaseName is the lock that the replicas of the controller compete for.
const leaseName = "gatewright-leader"

// controllerPods selects the pods of the control plane.
var controllerPods = client.MatchingLabels{"app.kubernetes.io/name": "gatewright", "app.kubernetes.io/component": "controller"}

// Controllers lists the pods of the control plane that are ready.
func (w *Fixture) Controllers(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := w.List(ctx, &pods, client.InNamespace(ControllerNamespace), controllerPods); err != nil {
		return nil, fmt.Errorf("list the controller's pods: %w", err)
	}
	var ready []corev1.Pod
	for i := range pods.Items {
		if PodReady(&pods.Items[i]) && pods.Items[i].DeletionTimestamp == nil {
			ready = append(ready, pods.Items[i])
		}
	}
	return ready, nil
}

// WaitControllers waits until a number of controllers is ready, none of them among those killed.
func (w *Fixture) WaitControllers(t *testing.T, want int, killed map[string]bool) {
	t.Helper()
	Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		ready, err := w.Controllers(ctx)
		if err != nil {
			return err
		}
		n := 0
		for i := range ready {
			if !killed[ready[i].Name] {
				n++
			}
		}
		if n < want {
			return fmt.Errorf("%d of %d controllers are ready", n, want)
		}
		return nil
	})
}

// PodReady says whether a pod is ready.
func PodReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Leader is the identity that holds the lease.
func (w *Fixture) Leader(ctx context.Context) (string, error) {
	var lease coordinationv1.Lease
	if err := w.Get(ctx, client.ObjectKey{Namespace: ControllerNamespace, Name: leaseName}, &lease); err != nil {
		return "", fmt.Errorf("get the lease: %w", err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", errors.New("no replica holds the lease")
	}
	return *lease.Spec.HolderIdentity, nil
}

// RestartControllers replaces every pod of the control plane and says how long it took until as many were ready.
func (w *Fixture) RestartControllers(t *testing.T) time.Duration {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("find the controller: %d pods, %v", len(pods), err)
	}
	start, old := clock.Now(), map[string]bool{}
	for i := range pods {
		old[pods[i].Name] = true
		if err := w.Delete(t.Context(), &pods[i]); err != nil {
			t.Fatalf("delete %s: %v", pods[i].Name, err)
		}
	}
	w.WaitControllers(t, len(pods), old)
	return clock.Since(start)
}
