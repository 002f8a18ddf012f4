//go:build bench

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/bench/baseline"
	"github.com/gatewright/gatewright/test/live"
)

// envoyImage is that of the implementation's own proxies.
func (s *scenario) envoyImage(t *testing.T) string {
	t.Helper()
	return s.proxies(t)[0].Spec.Containers[0].Image
}

// startEnvoy runs the implementation's Envoy as its own proxies run, but with another configuration, and waits until it listens.
func (s *scenario) startEnvoy(t *testing.T, name string, configuration []byte) *corev1.Pod {
	t.Helper()
	w := s.tenants[0]
	w.Make(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"envoy.json": string(configuration)}})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"bench": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
			}}},
			Containers: []corev1.Container{{
				Name: "envoy", Image: s.envoyImage(t), ImagePullPolicy: corev1.PullIfNotPresent,
				Args: []string{"--config-path", "/etc/bench/envoy.json", "--log-level", "warn", "--disable-hot-restart"},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
				}},
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/bench", ReadOnly: true}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
					TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(baseline.HTTPPort)},
				}},
			}},
		},
	}
	w.Make(t, pod)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return fmt.Errorf("get %s: %w", name, err)
		}
		if !live.PodReady(pod) {
			return fmt.Errorf("%s is not ready: %+v", name, pod.Status)
		}
		return nil
	})
	return pod
}
