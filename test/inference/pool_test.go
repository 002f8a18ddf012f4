//go:build inference

package inference

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

func TestMain(m *testing.M) { os.Exit(live.Run(m)) }

// wait is how long a change may take to be served.
const wait = time.Minute

// TestPool: pods of a pool get requests as they come, also where its picker is missing and it fails open. What is made for it, and its
// status, go when no route refers to it.
func TestPool(t *testing.T) {
	t.Parallel()
	const host = "pool.inference.example.com"
	w := live.New(t)
	pods := w.Echo(t, "model", 2)
	address := w.Gateway(t, "gateway")
	pool := &inferencev1.InferencePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}, Spec: inferencev1.InferencePoolSpec{
		Selector:    inferencev1.LabelSelector{MatchLabels: map[inferencev1.LabelKey]inferencev1.LabelValue{"app": "model"}},
		TargetPorts: []inferencev1.Port{{Number: live.EchoPort}},
	}}
	route := live.HTTPRoute("route", "gateway", host, "unused")
	route.Spec.Rules[0].BackendRefs[0].BackendObjectReference = gwv1.BackendObjectReference{
		Group: new(gwv1.Group(inferencev1.GroupName)), Kind: new(gwv1.Kind("InferencePool")), Name: "pool",
	}
	w.Make(t, pool, route)
	w.WaitServed(t, address, host)
	waitPool(t, w, pool, map[string]metav1.ConditionStatus{"Accepted": metav1.ConditionTrue, "ResolvedRefs": metav1.ConditionTrue})
	waitPods(t, w, address, host, pods)

	change := func(failureMode inferencev1.EndpointPickerFailureMode) {
		t.Helper()
		pool.Spec.EndpointPickerRef = &inferencev1.EndpointPickerRef{
			Name: "missing", Port: &inferencev1.Port{Number: 9002}, FailureMode: failureMode,
		}
		if err := w.Update(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		waitPool(t, w, pool, map[string]metav1.ConditionStatus{"Accepted": metav1.ConditionTrue, "ResolvedRefs": metav1.ConditionFalse})
	}
	change(inferencev1.EndpointPickerFailClose)
	waitStatus(t, w, address, host, http.StatusServiceUnavailable)
	change(inferencev1.EndpointPickerFailOpen)
	waitPods(t, w, address, host, pods)

	if made := madeFor(t, w); len(made) != 1 || made[0].Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("made for the pool: %+v", made)
	}
	if err := w.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	live.Eventually(t, wait, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return err
		}
		if left := madeFor(t, w); len(left) > 0 || len(pool.Status.Parents) > 0 {
			return fmt.Errorf("of a pool that is not used is left: %d Services, status %+v", len(left), pool.Status)
		}
		return nil
	})
}

// waitPool waits until the only parent of a pool says so.
func waitPool(t *testing.T, w *live.Fixture, pool *inferencev1.InferencePool, want map[string]metav1.ConditionStatus) {
	t.Helper()
	live.Eventually(t, wait, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return err
		}
		if len(pool.Status.Parents) != 1 || pool.Status.Parents[0].ControllerName != live.ControllerName {
			return fmt.Errorf("status: %+v", pool.Status)
		}
		for condition, state := range want {
			if !meta.IsStatusConditionPresentAndEqual(pool.Status.Parents[0].Conditions, condition, state) {
				return fmt.Errorf("%s should be %s: %+v", condition, state, pool.Status)
			}
		}
		return nil
	})
}

// waitPods waits until each of these pods answers, and no other.
func waitPods(t *testing.T, w *live.Fixture, address, host string, pods []corev1.Pod) {
	t.Helper()
	wanted := map[string]bool{}
	for i := range pods {
		wanted[pods[i].Name] = true
	}
	live.Eventually(t, wait, 200*time.Millisecond, func(ctx context.Context) error {
		seen := map[string]bool{}
		for range 20 * len(pods) {
			answer, err := w.Request(ctx, address, host)
			if err != nil {
				return err
			}
			if !wanted[answer.Pod] {
				return fmt.Errorf("pod %s answers, which is not one of %v", answer.Pod, wanted)
			}
			seen[answer.Pod] = true
		}
		if len(seen) != len(wanted) {
			return fmt.Errorf("only %v of %v answer", seen, wanted)
		}
		return nil
	})
}

func waitStatus(t *testing.T, w *live.Fixture, address, host string, want int) {
	t.Helper()
	live.Eventually(t, wait, 200*time.Millisecond, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+live.Host(address), http.NoBody)
		if err != nil {
			return err
		}
		request.Host = host
		response, err := w.HTTP.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != want {
			return fmt.Errorf("answered %d, want %d", response.StatusCode, want)
		}
		return nil
	})
}

// madeFor are the Services that Gatewright made for pools.
func madeFor(t *testing.T, w *live.Fixture) []corev1.Service {
	t.Helper()
	var services corev1.ServiceList
	labels := client.HasLabels{"gatewright.dev/inferencepool-uid"}
	if err := w.List(t.Context(), &services, client.InNamespace(w.Namespace), labels); err != nil {
		t.Fatal(err)
	}
	return services.Items
}
