//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/e2e/load"
)

// TestControllerKilled kills every replica of the controller at once under load: traffic does not notice, and afterwards changes
// arrive again. It is not parallel, because it takes the controller from every other test.
//
//nolint:paralleltest // see above
func TestControllerKilled(t *testing.T) {
	w := newWorld(t)
	w.echo(t, "echo", 2)
	w.echoService(t, "echo")
	address := w.gateway(t, "gateway")
	w.route(t, "before", "gateway", "before.example.com", "echo")
	w.waitServed(t, address, "before.example.com")

	run := load.Start(t.Context(), load.Plan{
		URL: "http://" + address + "/", Host: "before.example.com",
		Rate: 200, Workers: 64, Timeout: 5 * time.Second, MaxDuration: 3 * time.Minute,
	})
	time.Sleep(2 * time.Second)
	pods, err := w.controllers(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("find the controller: %d pods, %v", len(pods), err)
	}
	killed := map[string]bool{}
	for i := range pods {
		killed[pods[i].Name] = true
		w.kill(t, &pods[i])
	}
	w.waitControllers(t, len(pods), killed)
	w.route(t, "after", "gateway", "after.example.com", "echo")
	w.waitServed(t, address, "after.example.com")
	time.Sleep(2 * time.Second)

	result := run.Stop()
	t.Logf("%d controllers killed: %s", len(pods), result)
	if result.Failed() > 0 || result.Sent == 0 {
		t.Errorf("want requests and no failure: %s", result)
	}
}
