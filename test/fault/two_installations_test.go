//go:build fault

package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// The second installation.
const (
	teamController = "example.com/team"
	teamNamespace  = "gatewright-team"
)

// TestCase53TwoInstallations runs a second installation, with a controller name of its own, for one namespace. Both see its classes, one of
// which has parameters that only one may read. Each serves its own; neither writes about, nor removes, what is the other's.
//
//nolint:paralleltest // it installs a second Gatewright, and counts what is written in the whole cluster
func TestCase53TwoInstallations(t *testing.T) {
	c := begin(t, "53", "two installations, one of them for one namespace")
	w, rest := newFixture(t), live.New(t)
	team, shared := "team-"+w.Namespace, "parameters-"+w.Namespace
	w.installTeam(t, team)
	w.Make(t, &v1alpha1.ProxyConfig{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: v1alpha1.ProxyConfigSpec{Replicas: new(int32(1))}})
	class := &gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: shared}, Spec: gwv1.GatewayClassSpec{
		ControllerName: teamController,
		ParametersRef: &gwv1.ParametersReference{
			Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: "team", Namespace: new(gwv1.Namespace(w.Namespace)),
		},
	}}
	if err := w.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(context.Background(), class) })

	served := 0
	for _, name := range []string{team, shared} {
		gateway := gatewayOf(name)
		address := w.Programmed(t, gateway)
		w.Route(t, "of-"+name, gateway.Name, name+".example.com", serviceName)
		w.WaitServed(t, address, name+".example.com")
		served++
	}
	c.exactly(served, "Gateways of the second installation served beside one of the first", 2)
	elsewhere := gatewayOf(team)
	rest.Make(t, elsewhere)

	time.Sleep(10 * time.Second)
	before := w.versions(t, rest.Namespace)
	time.Sleep(span(time.Minute, 20*time.Second))
	c.none(changed(before, w.versions(t, rest.Namespace)), "status writes after 10 s of quiet")
	if err := rest.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, condition := range elsewhere.Status.Conditions {
		if condition.Status != metav1.ConditionUnknown {
			t.Errorf("a Gateway that neither serves was told: %+v", condition)
		}
	}

	// A leader looks for fleets that are no longer wanted.
	requests := w.startLoad(t, steadyHost)
	fleets := w.fleets(t)
	w.RestartControllers(t)
	time.Sleep(10 * time.Second)
	c.none(changed(fleets, w.fleets(t)), fmt.Sprintf("of %d fleets made anew or removed by another leader", len(fleets)))
	c.load(requests.Stop())
}

// installTeam installs the second Gatewright, with the images of the first, until the test ends.
func (w *fixture) installTeam(t *testing.T, class string) {
	t.Helper()
	values := command(t, "", "helm", "get", "values", "gatewright", "--namespace", live.ControllerNamespace, "--output", "json")
	watched, err := json.Marshal([]string{w.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := run(context.Background(), "", "helm", "uninstall", "team", "--namespace", teamNamespace, "--wait"); err != nil {
			t.Error(err)
		}
		if _, err := run(context.Background(), "", "kubectl", "delete", "namespace", teamNamespace, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	command(t, values, "helm", "install", "team", "../../charts/gatewright",
		"--namespace", teamNamespace, "--create-namespace", "--values", "-",
		"--set", "controllerName="+teamController, "--set", "gatewayClass.name="+class, "--set", "gatewayClass.create=true",
		"--set", "crds.create=false", "--set", "rateLimit.enabled=false", "--set-json", "watchNamespaces="+string(watched),
		"--wait", "--timeout", "3m")
}

// gatewayOf is a Gateway of a class, and is called like it.
func gatewayOf(class string) *gwv1.Gateway {
	return &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: gwv1.ObjectName(class),
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
		},
	}
}

// versions are those of all GatewayClasses, and of everything in the namespaces of the test, whose status a Gatewright may write. What
// tests before this one have left may still be on its way out.
func (w *fixture) versions(t *testing.T, other string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, kind := range []string{"GatewayClass", "Gateway", "HTTPRoute"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: gwv1.GroupName, Version: "v1", Kind: kind + "List"})
		if err := w.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if namespace := list.Items[i].Namespace; namespace != "" && namespace != w.Namespace && namespace != other {
				continue
			}
			found[kind+" "+list.Items[i].Namespace+"/"+list.Items[i].Name] = list.Items[i].ResourceVersion
		}
	}
	return found
}

// fleets are the Deployments of proxies in the test's namespace.
func (w *fixture) fleets(t *testing.T) map[string]string {
	t.Helper()
	var list appsv1.DeploymentList
	if err := w.List(
		t.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{"app.kubernetes.io/managed-by": "gatewright"},
	); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range list.Items {
		found[list.Items[i].Name] = string(list.Items[i].UID)
	}
	return found
}

// changed counts what is not as it was.
func changed(before, after map[string]string) int {
	n := 0
	for name, version := range before {
		if after[name] != version {
			n++
		}
	}
	for name := range maps.Keys(after) {
		if _, known := before[name]; !known {
			n++
		}
	}
	return n
}
