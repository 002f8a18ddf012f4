//go:build fault

package fault

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// world is what a case has: a namespace, and in it a Gateway that serves a host from two pods.
type world struct {
	*live.World
	// address is that of the Gateway.
	address string
}

// What every case has.
const (
	gatewayName = "gateway"
	serviceName = "echo"
	steadyHost  = "steady.example.com"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: live.New(t)}
	w.Echo(t, serviceName, 2)
	w.EchoService(t, serviceName)
	w.address = w.Gateway(t, gatewayName)
	w.Route(t, "steady", gatewayName, steadyHost, serviceName)
	w.WaitServed(t, w.address, steadyHost)
	return w
}

// startLoad sends requests to a host until it is stopped, at a rate that two cores carry beside the cluster itself. As many can be under way
// as are sent before the first times out, so that a busy machine is no failure: an answer that does not come in time is.
func (w *world) startLoad(t *testing.T, host string) *load.Run {
	t.Helper()
	return load.Start(t.Context(), load.Plan{
		URL: "http://" + w.address + "/", Host: host,
		Rate: 200, Workers: 200 * 5, Timeout: 5 * time.Second, MaxDuration: 15 * time.Minute,
	})
}

// streams counts the proxies that controllers serve.
func (w *world) streams(t *testing.T) int {
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
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+controller.Status.PodIP+":8080/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("ask %s for metrics: %v", controller.Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("%s of %s: %v", name, controller.Name, err)
			}
			return int(value)
		}
	}
	t.Fatalf("%s has no metric %s: %v", controller.Name, name, lines.Err())
	return 0
}

// controllerStarts names each controller and when it started, which changes when one exits.
func (w *world) controllerStarts(t *testing.T) []string {
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
