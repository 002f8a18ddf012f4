//go:build fault

package fault

import (
	"syscall"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/load"
)

// TestCase23ProxyEvictedAndKilled evicts the only proxy, as draining its node does, so that for a while there is none but the one that
// leaves; and then kills one of two with SIGKILL.
func TestCase23ProxyEvictedAndKilled(t *testing.T) {
	t.Parallel()
	const limit = 5 * time.Second
	c := begin(t, "23", "a proxy is evicted, one is killed")
	w := newFixture(t)
	w.serveEcho(t)
	begun := w.startEverything(t)
	took := w.Evict(t, gatewayName, w.OneProxy(t, gatewayName))
	c.note("evicted, gone after %s", rounded(took))
	begun.stop(c)

	w.ScaleProxies(t, gatewayName, 2)
	victim := process(t, &w.WaitProxies(t, gatewayName, 2)[0])
	kept, fresh := w.startOnce(t, false), w.startOnce(t, true)
	started := time.Now()
	time.Sleep(2 * time.Second)
	killed := time.Since(started)
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatalf("kill a proxy: %v", err)
	}
	time.Sleep(2 * limit)
	w.WaitProxies(t, gatewayName, 2)
	for _, traffic := range []struct {
		kind string
		run  *load.Run
	}{{"on connections that are kept", kept}, {"on a connection each", fresh}} {
		result := traffic.run.Stop()
		c.note("killed, %s of %s requests %s lost", grouped(result.Failed()), grouped(result.Sent), traffic.kind)
		if result.Failed() == 0 {
			continue
		}
		t.Log(result)
		c.took(result.Last-killed, "the last after", limit)
		if result.First < killed {
			t.Errorf("requests failed before the proxy was killed, after %s: %s", killed, result)
		}
	}
	c.exactly(w.Restarts(t, gatewayName), "restarts", 1)
}

// startOnce sends requests that are never sent twice, each on a connection of its own or on those that are kept.
func (w *fixture) startOnce(t *testing.T, fresh bool) *load.Run {
	t.Helper()
	return load.Start(t.Context(), load.Plan{
		URL: "http://" + w.address + "/", Host: steadyHost, Once: true, Fresh: fresh,
		Rate: 100, Workers: 100 * 5, Timeout: 5 * time.Second, MaxDuration: 5 * time.Minute,
	})
}
