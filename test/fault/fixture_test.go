//go:build fault

package fault

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// fixture is what a case has: a namespace, and in it a Gateway that serves a host from two pods.
type fixture struct {
	*live.Fixture
	// address is that of the Gateway.
	address string
}

// What every case has.
const (
	gatewayName = "gateway"
	serviceName = "echo"
	steadyHost  = "steady.example.com"
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{Fixture: live.New(t)}
	w.Echo(t, serviceName, 2)
	w.EchoService(t, serviceName)
	w.address = w.Gateway(t, gatewayName)
	w.Route(t, "steady", gatewayName, steadyHost, serviceName)
	w.WaitServed(t, w.address, steadyHost)
	return w
}

// makeYAML makes objects of any kind.
func makeYAML(t *testing.T, in *live.Fixture, text string) {
	t.Helper()
	for part := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
			t.Fatalf("read an object: %v\n%s", err, part)
		}
		in.Make(t, object)
	}
}

// startLoad sends requests to a host until it is stopped, at a rate that two cores carry beside the cluster itself. As many can be
// under way as are sent before the first times out, so that a busy machine is no failure: an answer that does not come in time is.
func (w *fixture) startLoad(t *testing.T, host string) *load.Run {
	t.Helper()
	return load.Start(t.Context(), load.Plan{
		URL: "http://" + w.address + "/", Host: host,
		Rate: 200, Workers: 200 * 5, Timeout: 5 * time.Second, MaxDuration: 15 * time.Minute,
	})
}

// streams counts the proxies that controllers serve.
func (w *fixture) streams(t *testing.T) int {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range pods {
		total += metric(t, &pods[i], "gatewright_xds_connected_proxies")
	}
	return total
}

// metric reads one number that a controller tells of itself.
func metric(t *testing.T, controller *corev1.Pod, name string) int {
	t.Helper()
	metrics, err := live.ReadMetrics(t.Context(), controller)
	if err != nil {
		t.Fatal(err)
	}
	value, ok := metrics[name]
	if !ok {
		t.Fatalf("%s has no metric %s", controller.Name, name)
	}
	return int(value)
}

// controllerStarts names each controller and when it started, which changes when one exits.
func (w *fixture) controllerStarts(t *testing.T) []string {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var starts []string
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			starts = append(starts, fmt.Sprintf("%s (%d restarts)", pods[i].Name, c.RestartCount))
		}
	}
	slices.Sort(starts)
	return starts
}
