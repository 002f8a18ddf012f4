//go:build fault

package fault

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase41NamespacedInstallation has Gatewright watch one namespace only: what is there is served all the time and updated as before;
// of another namespace it may not read a Secret, and writes nothing; when it watches all again, the other namespace is served too. It
// is alone on the cluster, since every Gateway but one is left alone meanwhile.
//
//nolint:paralleltest // it changes what every test relies on
func TestCase41NamespacedInstallation(t *testing.T) {
	c := begin(t, "41", "Gatewright watches one namespace")
	w, foreign := newFixture(t), live.New(t)
	if n := w.allowed(t, foreign.Namespace); n == 0 {
		t.Error("watching every namespace, it may not read Secrets: the test asks for the wrong right")
	}
	requests := w.startLoad(t, steadyHost)

	// It needs its own as well, for the rate limit service.
	w.watchNamespaces(t, w.Namespace, live.ControllerNamespace)
	c.exactly(w.allowed(t, w.Namespace), "rights to read Secrets of its own namespace", 2)
	c.none(w.allowed(t, foreign.Namespace), "to read those of another")
	c.none(w.allowed(t, ""), "to read those of all")
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "foreign", Namespace: foreign.Namespace},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: live.GatewayClass,
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
		},
	}
	foreign.Make(t, gateway)
	c.took(w.serveMore(t, "watched"), "a route in its own served after", 3*time.Second)
	if err := foreign.Get(t.Context(), client.ObjectKeyFromObject(gateway), gateway); err != nil {
		t.Fatal(err)
	}
	for _, condition := range gateway.Status.Conditions {
		if condition.Status != metav1.ConditionUnknown {
			t.Errorf("a Gateway of another namespace was told: %+v", condition)
		}
	}

	w.watchNamespaces(t)
	foreign.WaitProgrammed(t, gateway)
	c.load(requests.Stop())
}

// watchNamespaces gives Gatewright other namespaces to watch, none for all, for as long as the test runs.
func (w *fixture) watchNamespaces(t *testing.T, names ...string) {
	t.Helper()
	if len(names) > 0 {
		t.Cleanup(func() { upgrade(context.Background(), t, []string{}) })
	}
	upgrade(t.Context(), t, append([]string{}, names...))
}

func upgrade(ctx context.Context, t *testing.T, namespaces []string) {
	t.Helper()
	value, err := json.Marshal(namespaces)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, "helm", "upgrade", "gatewright", "../../charts/gatewright", "--namespace", live.ControllerNamespace,
		"--reuse-values", "--set-json", "watchNamespaces="+string(value), "--wait", "--timeout", "3m")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("helm upgrade: %v\n%s", err, output)
	}
}

// allowed counts the ways in which Gatewright may read the Secrets of a namespace, or of all if it is empty.
func (w *fixture) allowed(t *testing.T, namespace string) int {
	t.Helper()
	count := 0
	for _, verb := range []string{"get", "list", "watch"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + live.ControllerNamespace + ":gatewright",
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + live.ControllerNamespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "secrets"},
		}}
		if err := w.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed {
			count++
		}
	}
	return count
}
