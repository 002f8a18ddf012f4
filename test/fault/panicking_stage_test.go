//go:build fault

package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// malicious is what has made a check of patches panic, or might.
var malicious = []string{
	`{"spec":{"template":{"spec":{"os":{"name":"windows"},"containers":[{"name":"envoy","image":"x"},{"$patch":"replace"}]}}}}`,
	`{"spec":{"template":{"spec":{"os":{"name":"windows"},"containers":[{"name":"envoy","securityContext":null}]}}}}`,
	`{"spec":{"template":{"spec":{"containers":[null]}}}}`,
	`{"spec":{"template":{"spec":{"containers":[{"$patch":"replace"}]}}}}`,
	`{"spec":{"template":null}}`,
	`{"spec":{"template":{"spec":{"containers":{"$setElementOrder/containers":[1]}}}}}`,
}

// TestCase44PanickingStage gives Gateways patches made to crash the code that checks them, and then has a stage of the controllers
// panic for the host of one route, always. No controller restarts, others advance, and the objects say what became of them.
//
//nolint:paralleltest // it restarts the controllers
func TestCase44PanickingStage(t *testing.T) {
	c := begin(t, "44", "objects that make a stage panic")
	w := newFixture(t)
	address := w.address
	before := w.controllerRestarts(t)

	for i, patch := range malicious {
		gateway, config := live.GatewayWith(fmt.Sprintf("malicious-%d", i), v1alpha1.ProxyConfigSpec{
			Patches: &v1alpha1.Patches{Deployment: &runtime.RawExtension{Raw: []byte(patch)}},
		})
		w.Make(t, config, gateway)
	}
	c.took(w.slowestRoute(t, address, "beside-patch"), "beside patches, other routes served within", othersLimit)
	for i := range malicious {
		w.WaitRefused(t, fmt.Sprintf("malicious-%d", i))
	}
	c.exactly(len(malicious), "patches refused on their Gateways", len(malicious))
	c.none(w.controllerRestarts(t)-before, "restarts of controllers")

	const stage, host = "virtual host", "panics.example.com"
	w.panicFor(t, stage+"="+host)
	w.waitControllersLeft(t)
	w.waitConnected(t, w.OneProxy(t, gatewayName))
	before = w.controllerRestarts(t)
	w.Route(t, "panics", gatewayName, host, serviceName)
	c.took(w.slowestRoute(t, address, "beside-panic"), "beside a stage that panics, other routes served within", othersLimit)
	var reported string
	live.Eventually(t, 30*time.Second, 100*time.Millisecond, func(ctx context.Context) error {
		route := &gwv1.HTTPRoute{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "panics"}, route); err != nil {
			return err
		}
		for _, parent := range route.Status.Parents {
			if is := meta.FindStatusCondition(parent.Conditions, outcome.RouteProgrammed); is != nil && strings.Contains(
				is.Message, "by --panic-for",
			) {
				reported = is.Message
				return nil
			}
		}
		return fmt.Errorf("the route does not say so: %+v", route.Status.Parents)
	})
	c.note("the route says: %s", reported)
	c.none(w.controllerRestarts(t)-before, "restarts of controllers")
}

// slowestRoute creates a few routes, one after the other, and says how long the slowest took to be served. It deletes them at the end.
func (w *fixture) slowestRoute(t *testing.T, address, name string) time.Duration {
	t.Helper()
	var slowest time.Duration
	var routes []client.Object
	for i := range 5 {
		host := fmt.Sprintf("%s-%d.example.com", name, i)
		start := clock.Now()
		routes = append(routes, w.Route(t, fmt.Sprintf("%s-%d", name, i), gatewayName, host, serviceName))
		created := clock.Since(start)
		last := w.waitHost(t, address, host)
		took := clock.Since(start)
		if took > othersLimit/2 {
			t.Logf("%s was served after %v: the API server had it after %v; the last of %d misses: %v", host, took, created, last.misses, last.err)
		}
		slowest = max(slowest, took)
	}
	w.deleteAll(t, routes)
	return slowest
}

// waitControllersLeft waits until controllers that are to end have ended, and with them the streams of their proxies.
func (w *fixture) waitControllersLeft(t *testing.T) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := w.List(ctx, pods, client.InNamespace(live.ControllerNamespace)); err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp != nil {
				return fmt.Errorf("pod %s is ending", pods.Items[i].Name)
			}
		}
		return nil
	})
}

func (w *fixture) controllerRestarts(t *testing.T) int {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("find the controllers: %d, %v", len(pods), err)
	}
	n := 0
	for i := range pods {
		for _, status := range pods[i].Status.ContainerStatuses {
			n += int(status.RestartCount)
		}
	}
	return n
}

// panicFor has a stage of the controllers panic until the test ends.
func (w *fixture) panicFor(t *testing.T, what string) {
	t.Helper()
	const flag = "--panic-for="
	set := func(ctx context.Context, arguments ...string) {
		controllers := &appsv1.Deployment{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: live.ControllerNamespace, Name: "gatewright"}, controllers); err != nil {
			t.Errorf("get the controllers: %v", err)
			return
		}
		before := controllers.DeepCopy()
		container := &controllers.Spec.Template.Spec.Containers[0]
		container.Args = slices.DeleteFunc(container.Args, func(a string) bool { return strings.HasPrefix(a, flag) })
		container.Args = append(container.Args, arguments...)
		if err := w.Patch(ctx, controllers, client.MergeFrom(before)); err != nil {
			t.Errorf("change the controllers: %v", err)
		}
		if output, err := run(
			ctx, "", "kubectl", "--namespace", live.ControllerNamespace, "rollout", "status", "deployment/gatewright", "--timeout=2m",
		); err != nil {
			t.Errorf("replace the controllers: %v\n%s", err, output)
		}
	}
	t.Cleanup(func() {
		set(context.Background())
		w.disown(context.Background(), t)
	})
	set(t.Context(), flag+what)
}

// disown gives up the fields of the controllers' Deployment that the test changed, which the next installation sets.
func (w *fixture) disown(ctx context.Context, t *testing.T) {
	t.Helper()
	var err error
	// The Deployment's status changes while pods are replaced.
	for range 10 {
		controllers := &appsv1.Deployment{}
		if err = w.Get(ctx, client.ObjectKey{Namespace: live.ControllerNamespace, Name: "gatewright"}, controllers); err == nil {
			controllers.ManagedFields = slices.DeleteFunc(
				controllers.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == "fault.test" },
			)
			if err = w.Update(ctx, controllers); err == nil {
				return
			}
		}
		time.Sleep(time.Second)
	}
	t.Errorf("give up the fields of the controllers: %v", err)
}
