//go:build fault

package fault

import (
	"testing"
	"time"
)

// TestCase01ControllersKilledUnderLoad kills every replica of the controller with SIGKILL, again whenever they are back: traffic does not
// notice, the proxies stay, and afterwards changes arrive again.
//
//nolint:paralleltest // it takes the controller from every other case
func TestCase01ControllersKilledUnderLoad(t *testing.T) {
	c := begin(t, "1", "the controller is killed under load")
	w := newFixture(t)
	proxy := w.OneProxy(t, gatewayName).Name
	run := w.startLoad(t, steadyHost)
	kills := 0
	for start := time.Now(); time.Since(start) < span(time.Minute, 30*time.Second); {
		kills += w.killControllers(t)
		time.Sleep(3 * time.Second)
	}
	w.Route(t, "after", gatewayName, "after.example.com", serviceName)
	w.WaitServed(t, w.address, "after.example.com")

	c.note("%d controllers killed", kills)
	c.load(run.Stop())
	c.none(w.Restarts(t, gatewayName), "proxy restarts")
	if now := w.OneProxy(t, gatewayName).Name; now != proxy {
		t.Errorf("the proxy was %s and is %s", proxy, now)
	}
}

// killControllers kills every replica that is ready, and returns when others are in their place.
func (w *fixture) killControllers(t *testing.T) int {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("find the controller: %d pods, %v", len(pods), err)
	}
	killed := map[string]bool{}
	for i := range pods {
		killed[pods[i].Name] = true
		w.Kill(t, &pods[i])
	}
	w.WaitControllers(t, len(pods), killed)
	return len(pods)
}
