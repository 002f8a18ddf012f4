//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

const filesHost = "files.example.com"

// TestFiles: proxies that are supplied by files serve, take changes without a restart and without losing a request, and can be changed
// over to xDS while they do.
func TestFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needEnabled(t, "--files")
	w.Echo(t, "files", 1)
	w.VariantServices(t, "files")
	config := &v1alpha1.ProxyConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "files"}, Spec: v1alpha1.ProxyConfigSpec{Delivery: new(v1alpha1.DeliveryFiles)},
	}
	w.Make(t, config)
	route := w.Route(t, "files", "files", filesHost, live.VariantService)
	start := time.Now()
	address := w.Programmed(t, &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "files"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: live.GatewayClass,
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
			Infrastructure: &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
				Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: "files",
			}},
		},
	})
	w.routeProgrammed(t, route)
	t.Logf("a Gateway and its first route are programmed after %s", time.Since(start).Round(time.Millisecond))
	// Whether the nodes lead traffic to a new Service yet is not for a Gateway to know.
	w.WaitServed(t, address, filesHost)
	proxy := w.OneProxy(t, "files")
	if slices.ContainsFunc(proxy.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "token" }) {
		t.Error("the proxy has a token for the control plane")
	}

	requests := load.Start(t.Context(), load.Plan{
		URL: "http://" + live.Host(address), Host: filesHost, Rate: 50, Workers: 250, Timeout: 5 * time.Second,
		MaxDuration: 5 * time.Minute,
	})
	var slowest, sum time.Duration
	const edits = 5
	for i := range edits {
		w.Edit(t, route, func(r *gwv1.HTTPRoute) { r.Spec.Rules = live.Variant(i) })
		took := w.routeProgrammed(t, route)
		slowest, sum = max(slowest, took), sum+took
	}
	t.Logf(
		"%d edits, each with other backends, are read after %s on average, %s at most", edits, (sum / edits).Round(time.Millisecond),
		slowest.Round(time.Millisecond),
	)
	if after := w.OneProxy(t, "files"); after.UID != proxy.UID || w.Restarts(t, "files") != 0 {
		t.Error("a change restarted the proxy")
	}

	before := config.DeepCopy()
	config.Spec.Delivery = new(v1alpha1.DeliveryXDS)
	if err := w.Patch(t.Context(), config, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	took := live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error { return w.changedOver(ctx, proxy.Name) })
	t.Logf("all proxies are supplied over xDS, and the files gone, after %s", took.Round(time.Millisecond))
	w.Edit(t, route, func(r *gwv1.HTTPRoute) { r.Spec.Rules = live.Variant(edits) })
	w.routeProgrammed(t, route)
	if result := requests.Stop(); result.Failed() > 0 {
		t.Error(result)
	} else {
		t.Log(result)
	}
}

// needEnabled fails the test where the installation does not have what an operator enables by these arguments.
func (w *fixture) needEnabled(t *testing.T, arguments ...string) {
	t.Helper()
	var controller appsv1.Deployment
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: live.ControllerNamespace, Name: "gatewright"}, &controller); err != nil {
		t.Fatal(err)
	}
	for _, a := range arguments {
		if !slices.Contains(controller.Spec.Template.Spec.Containers[0].Args, a) {
			t.Fatalf("the controller runs without %s; install it with make install-everything", a)
		}
	}
}

// routeProgrammed waits until a route is programmed in its present generation, and says how long that took.
func (w *fixture) routeProgrammed(t *testing.T, route *gwv1.HTTPRoute) time.Duration {
	t.Helper()
	generation := route.Generation
	return live.Eventually(t, 30*time.Second, 20*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
			return err
		}
		for _, parent := range route.Status.Parents {
			condition := meta.FindStatusCondition(parent.Conditions, outcome.RouteProgrammed)
			if condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == generation {
				return nil
			}
		}
		return fmt.Errorf("route %s is not programmed: %+v", route.Name, route.Status.Parents)
	})
}

// changedOver says why not every proxy is supplied over xDS, or why there are files left.
func (w *fixture) changedOver(ctx context.Context, old string) error {
	pods, err := w.Proxies(ctx, "files")
	if err != nil {
		return err
	}
	for i := range pods {
		if pods[i].Name == old {
			return errors.New("the old proxy is still there")
		}
	}
	var objects corev1.ConfigMapList
	if err := w.List(ctx, &objects, client.InNamespace(w.Namespace)); err != nil {
		return err
	}
	for i := range objects.Items {
		if strings.HasSuffix(objects.Items[i].Name, "-clusters") {
			return fmt.Errorf("ConfigMap %s is still there", objects.Items[i].Name)
		}
	}
	return nil
}
