//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// TestSharedProxies has Gateways of several tenants share their proxies. Each has an address of its own and the ports it wants, and
// serves its own routes and no others; a Gateway that comes, changes or goes disturbs no other, and no proxy is replaced for it.
func TestSharedProxies(t *testing.T) {
	t.Parallel()
	first, second := newFixture(t), newFixture(t)
	class := first.classWith(t, map[string]any{"placement": "Shared"})
	for _, w := range []*fixture{first, second} {
		w.Echo(t, "echo", 1)
		w.EchoService(t, "echo")
	}
	one := first.tenant(t, "one", class, 80)
	first.Route(t, "route", "one", "one.example.com", "echo")
	two := second.tenant(t, "two", class, 80, 8080)
	second.Route(t, "route", "two", "two.example.com", "echo")
	if one == two {
		t.Fatalf("both Gateways have %s", one)
	}
	first.WaitServed(t, one, "one.example.com")
	second.WaitServed(t, two, "two.example.com")
	second.WaitServed(t, net.JoinHostPort(two, "8080"), "two.example.com")
	// A Gateway that has not the route does not serve it, though its proxies do.
	first.notServed(t, one, "two.example.com")
	second.notServed(t, two, "one.example.com")
	proxies := first.sharedProxies(t, class)
	if len(proxies) != 1 {
		t.Fatalf("there are %d proxies", len(proxies))
	}

	requests := load.Start(t.Context(), load.Plan{
		URL: "http://" + live.Host(one), Host: "one.example.com", Rate: 50, Workers: 250, Timeout: 5 * time.Second,
		MaxDuration: 5 * time.Minute,
	})
	const comers = 3
	for i := range comers {
		name := fmt.Sprintf("comer-%d", i)
		gateway := tenantGateway(name, class, 80)
		start := time.Now()
		address := second.Programmed(t, gateway)
		second.Route(t, name, name, name+".example.com", "echo")
		second.WaitServed(t, address, name+".example.com")
		t.Logf("another Gateway serves after %s", time.Since(start).Round(time.Millisecond))
		if err := second.Delete(t.Context(), gateway); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Delete(t.Context(), &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: second.Namespace, Name: "two"}}); err != nil {
		t.Fatal(err)
	}
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if _, err := second.Request(ctx, two, "two.example.com"); err == nil {
			return errors.New("the Gateway that is gone is served")
		}
		return nil
	})
	if result := requests.Stop(); result.Failed() > 0 {
		t.Error(result)
	} else {
		t.Log(result)
	}
	after := first.sharedProxies(t, class)
	if len(after) != 1 || after[0].UID != proxies[0].UID || after[0].Status.ContainerStatuses[0].RestartCount > 0 {
		t.Errorf("a proxy was replaced: %v", after)
	}

	if err := first.Delete(t.Context(), &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	took := live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		left, err := first.ofClass(ctx, class)
		if err != nil || len(left) > 0 {
			return fmt.Errorf("left behind: %v %w", left, err)
		}
		return nil
	})
	t.Logf("all that was shared was gone %s after the last Gateway", took.Round(time.Millisecond))
}

// announcing makes the proxies announce the client to the backends of a Gateway, which takes a connection of its own kind. A backend that
// does not expect it answers 400.
const announcing = `
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: announcing}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: one}]
  proxyProtocol: {version: V1}`

// TestPoliciesOnSharedProxies has two Gateways share their proxies and a Service. A policy of one comes and goes, with its settings for
// connections to the Service, and the requests of the other do not notice.
func TestPoliciesOnSharedProxies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	class := w.classWith(t, map[string]any{"placement": "Shared"})
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	one, two := w.tenant(t, "one", class, 80), w.tenant(t, "two", class, 80)
	w.Route(t, "one", "one", "one.example.com", "echo")
	w.Route(t, "two", "two", "two.example.com", "echo")
	w.WaitServed(t, one, "one.example.com")
	w.WaitServed(t, two, "two.example.com")
	requests := load.Start(t.Context(), load.Plan{
		URL: "http://" + live.Host(two), Host: "two.example.com", Rate: 50, Workers: 250, Timeout: 5 * time.Second,
		MaxDuration: 5 * time.Minute,
	})
	for range 2 {
		w.makeYAML(t, announcing)
		w.policyProgrammed(t, "announcing")
		w.waitAnswer(t, one, "one.example.com", http.StatusBadRequest)
		policy := &v1alpha1.BackendTrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "announcing"}}
		if err := w.Delete(t.Context(), policy); err != nil {
			t.Fatal(err)
		}
		w.waitAnswer(t, one, "one.example.com", http.StatusOK)
	}
	// The Gateway with the policy goes, and takes only its own settings along.
	w.makeYAML(t, announcing)
	w.waitAnswer(t, one, "one.example.com", http.StatusBadRequest)
	if err := w.Delete(t.Context(), &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if r, err := w.ask(ctx, one, "one.example.com", "", nil); err == nil {
			return fmt.Errorf("the Gateway that is gone answers %d", r.status)
		}
		return nil
	})
	if result := requests.Stop(); result.Failed() > 0 {
		t.Error(result)
	} else {
		t.Log(result)
	}
}

// TestMoveToSharedProxies has a Gateway, under load, come to share its proxies, and have its own again. It keeps its address.
func TestMoveToSharedProxies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	class := w.classWith(t, map[string]any{"placement": "GatewrightNamespace"})
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.tenant(t, "moves", class, 80)
	w.Route(t, "route", "moves", "moves.example.com", "echo")
	w.WaitServed(t, address, "moves.example.com")
	requests := load.Start(t.Context(), load.Plan{
		URL: "http://" + live.Host(address), Host: "moves.example.com", Rate: 50, Workers: 250, Timeout: 5 * time.Second,
		MaxDuration: 5 * time.Minute,
	})
	config := &v1alpha1.ProxyConfig{ObjectMeta: metav1.ObjectMeta{Name: "class", Namespace: w.Namespace}}
	for _, placement := range []v1alpha1.Placement{v1alpha1.PlacementShared, v1alpha1.PlacementGatewrightNamespace} {
		w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) { s.Placement = &placement })
		took := live.Eventually(t, 3*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
			return w.onlyFleet(
				ctx, class, placement == v1alpha1.PlacementShared,
			)
		})
		t.Logf("placement %s is so after %s", placement, took.Round(time.Millisecond))
	}
	if result := requests.Stop(); result.Failed() > 0 {
		t.Error(result)
	} else {
		t.Log(result)
	}
}

// TestSharedProxiesOutliveTheirParameters takes away what says that proxies are shared: they serve on, as they were, until it is back.
func TestSharedProxiesOutliveTheirParameters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	class := w.classWith(t, map[string]any{"placement": "Shared"})
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.tenant(t, "stays", class, 80)
	w.Route(t, "route", "stays", "stays.example.com", "echo")
	w.WaitServed(t, address, "stays.example.com")
	proxies := w.sharedProxies(t, class)
	requests := load.Start(t.Context(), load.Plan{
		URL: "http://" + live.Host(address), Host: "stays.example.com", Rate: 50, Workers: 250, Timeout: 5 * time.Second,
		MaxDuration: 5 * time.Minute,
	})
	config := &v1alpha1.ProxyConfig{ObjectMeta: metav1.ObjectMeta{Name: "class", Namespace: w.Namespace}}
	if err := w.Delete(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	w.WaitRefused(t, "stays", "class")
	// What is served goes on changing.
	w.Route(t, "another", "stays", "another.example.com", "echo")
	w.WaitServed(t, address, "another.example.com")
	w.Make(t, &v1alpha1.ProxyConfig{ObjectMeta: config.ObjectMeta, Spec: v1alpha1.ProxyConfigSpec{Placement: new(v1alpha1.PlacementShared)}})
	w.WaitProgrammed(t, &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "stays"}})
	if result := requests.Stop(); result.Failed() > 0 {
		t.Error(result)
	} else {
		t.Log(result)
	}
	if after := w.sharedProxies(t, class); len(after) != 1 || after[0].UID != proxies[0].UID {
		t.Errorf("a proxy was replaced: %v", after)
	}
}

// tenantGateway is a Gateway with those ports.
func tenantGateway(name, class string, ports ...int32) *gwv1.Gateway {
	gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gwv1.GatewaySpec{GatewayClassName: gwv1.ObjectName(class)}}
	for _, port := range ports {
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, gwv1.Listener{
			Name: gwv1.SectionName(fmt.Sprintf("http-%d", port)), Port: port, Protocol: gwv1.HTTPProtocolType,
		})
	}
	return gateway
}

func (w *fixture) tenant(t *testing.T, name, class string, ports ...int32) string {
	t.Helper()
	return w.Programmed(t, tenantGateway(name, class, ports...))
}

// notServed expects a Gateway to know nothing of a host.
func (w *fixture) notServed(t *testing.T, address, host string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+live.Host(address), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("%s answers %s for %s", address, answer.Status, host)
	}
}

// sharedProxies are the pods that the Gateways of a class share.
func (w *fixture) sharedProxies(t *testing.T, class string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := w.List(t.Context(), &pods, client.InNamespace(live.ControllerNamespace), client.MatchingLabels{classLabel: class}); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

const classLabel = "gateway.networking.k8s.io/gateway-class-name"

// ofClass names everything in Gatewright's namespace that is there for a class.
func (w *fixture) ofClass(ctx context.Context, class string) ([]string, error) {
	var names []string
	for _, kind := range fleetKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := w.List(ctx, list, client.InNamespace(live.ControllerNamespace), client.MatchingLabels{classLabel: class}); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			names = append(names, kind.Kind+"/"+list.Items[i].Name)
		}
	}
	return names, nil
}

// onlyFleet says why a class has other proxies than it should: shared ones, or those of its one Gateway.
func (w *fixture) onlyFleet(ctx context.Context, class string, shared bool) error {
	var deployments appsv1.DeploymentList
	if err := w.List(ctx, &deployments, client.InNamespace(live.ControllerNamespace), client.MatchingLabels{classLabel: class}); err != nil {
		return err
	}
	for i := range deployments.Items {
		if _, own := deployments.Items[i].Labels[gwv1.GatewayNameLabelKey]; own == shared {
			return fmt.Errorf("Deployment %s is there", deployments.Items[i].Name)
		}
	}
	if len(deployments.Items) != 1 || deployments.Items[0].Status.AvailableReplicas == 0 {
		return fmt.Errorf("there are %d Deployments", len(deployments.Items))
	}
	return nil
}
