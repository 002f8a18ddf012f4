//go:build fault

package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase14RouteNACK adds a proxy to a fleet that takes smaller expressions than Gatewright thinks proxies do, so that what passes every
// check is refused all the same. The route says so in Envoy's words, the others go on, and a proxy that starts then gets what is good.
func TestCase14RouteNACK(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	c := begin(t, "14", "a forced NACK")
	w := newFixture(t)
	strict := w.strictProxy(t, "strict")
	run := w.startLoad(t, steadyHost)

	culprit := live.HTTPRoute("culprit", gatewayName, "culprit.example.com", serviceName)
	matchPath(culprit, "/[a-z]{500}")
	start := clock.Now()
	w.Make(t, culprit)
	words := ""
	live.Eventually(t, time.Minute, 10*time.Millisecond, func(ctx context.Context) error {
		status, reason, message, err := w.conditionOf(ctx, culprit, programmed)
		if err == nil && (status != "False" || reason != "Refused") {
			err = fmt.Errorf("%s is %s, %s: %s", programmed, status, reason, message)
		}
		words = message
		return err
	})
	c.took(clock.Since(start), "told on the route after", limit)
	if !strings.Contains(words, "program size") {
		t.Errorf("these are not Envoy's words: %s", words)
	}

	w.announced(t, culprit)

	c.took(w.onProxy(t, strict, "other-0"), "others advance within", limit)
	c.took(w.onProxy(t, strict, "other-1"), "and again within", limit)
	fresh := w.strictProxy(t, "fresh")
	for _, host := range []string{steadyHost, "other-0.more.example.com", "other-1.more.example.com"} {
		if _, err := w.Request(t.Context(), fresh.Status.PodIP, host); err != nil {
			t.Errorf("a new proxy is ready and does not have what is good: %v", err)
		}
	}
	c.note("a new proxy is ready with what is good")

	edited := clock.Now()
	w.edit(t, culprit, func(route *gwv1.HTTPRoute) { matchPath(route, "/") })
	w.waitHost(t, strict.Status.PodIP, "culprit.example.com")
	c.took(clock.Since(edited), "mended after", limit)
	live.Eventually(t, time.Minute, 10*time.Millisecond, func(ctx context.Context) error {
		status, reason, message, err := w.conditionOf(ctx, culprit, programmed)
		if err == nil && status != "True" {
			err = fmt.Errorf("%s is %s, %s: %s", programmed, status, reason, message)
		}
		return err
	})
	c.load(run.Stop())
}

// announced waits for the event that repeats what a route was told.
func (w *fixture) announced(t *testing.T, route *gwv1.HTTPRoute) {
	t.Helper()
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		_, _, words, err := w.conditionOf(ctx, route, programmed)
		if err != nil {
			return err
		}
		var events eventsv1.EventList
		if err := w.List(ctx, &events, client.InNamespace(route.Namespace)); err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		for _, e := range events.Items {
			if e.Regarding.UID == route.UID && e.Reason == "Refused" && strings.Contains(e.Note, words) {
				return nil
			}
		}
		return fmt.Errorf("no event about route %s says %q", route.Name, words)
	})
}

// onProxy creates a route and returns how long it took from then until a proxy answered it by itself.
func (w *fixture) onProxy(t *testing.T, proxy *corev1.Pod, name string) time.Duration {
	t.Helper()
	start := clock.Now()
	host := name + ".more.example.com"
	w.Route(t, name, gatewayName, host, serviceName)
	w.waitHost(t, proxy.Status.PodIP, host)
	return clock.Since(start)
}

// strictProxy starts a proxy like those of the Gateway's fleet, with its identity, which takes expressions of at most 300 instructions.
func (w *fixture) strictProxy(t *testing.T, name string, arguments ...string) *corev1.Pod {
	t.Helper()
	pods, err := w.Proxies(t.Context(), gatewayName)
	if err != nil || len(pods) == 0 {
		t.Fatalf("find a proxy: %d, %v", len(pods), err)
	}
	model := pods[0]
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: model.Labels},
		Spec:       *model.Spec.DeepCopy(),
	}
	// It belongs to no ReplicaSet, which would remove it.
	delete(pod.Labels, "pod-template-hash")
	pod.Spec.NodeName = ""
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].ConfigMap; source != nil {
			w.Make(t, w.strictConfiguration(t, name, source.Name))
			source.Name = name
		}
	}
	pod.Spec.Containers[0].Args = append(pod.Spec.Containers[0].Args, arguments...)
	w.Make(t, pod)
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return fmt.Errorf("get pod %s: %w", name, err)
		}
		if !live.PodReady(pod) {
			return fmt.Errorf("pod %s is not ready: %+v", name, pod.Status)
		}
		return nil
	})
	return pod
}

// strictConfiguration is the bootstrap of a fleet with a lower limit.
func (w *fixture) strictConfiguration(t *testing.T, name, model string) *corev1.ConfigMap {
	t.Helper()
	const key = `"re2.max_program_size.error_level": `
	content := &corev1.ConfigMap{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: model}, content); err != nil {
		t.Fatalf("get the bootstrap: %v", err)
	}
	strict := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: content.Data}
	found := false
	for file, text := range strict.Data {
		if before, after, ok := strings.Cut(text, key); ok {
			found = true
			strict.Data[file] = before + key + "300" + strings.TrimLeft(after, "0123456789")
		}
	}
	if !found {
		t.Fatalf("the bootstrap does not set %s", key)
	}
	return strict
}
