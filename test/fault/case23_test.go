//go:build fault

package fault

import (
	"syscall"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/load"
)

// TestCase23ProxyLeaves evicts the only proxy, as draining its node does, so that for a while there is none but the one that leaves; and
// then kills one of two with SIGKILL.
func TestCase23ProxyLeaves(t *testing.T) {
	t.Parallel()
	const limit = 5 * time.Second
	c := begin(t, "23", "a proxy is evicted, one is killed")
	w := newWorld(t)
	w.serveTalk(t)
	begun := w.startEverything(t)
	took := w.Evict(t, gatewayName, w.OneProxy(t, gatewayName))
	c.note("evicted, gone after %s", rounded(took))
	begun.stop(c)

	w.ScaleProxies(t, gatewayName, 2)
	victim := process(t, &w.WaitProxies(t, gatewayName, 2)[0])
	run := load.Start(t.Context(), load.Plan{
		URL: "http://" + w.address + "/", Host: steadyHost, Once: true,
		Rate: 200, Workers: 200 * 5, Timeout: 5 * time.Second, MaxDuration: 5 * time.Minute,
	})
	started := time.Now()
	time.Sleep(2 * time.Second)
	killed := time.Since(started)
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatalf("kill a proxy: %v", err)
	}
	time.Sleep(2 * limit)
	w.WaitProxies(t, gatewayName, 2)
	result := run.Stop()
	c.note("killed, %s of %s requests lost", grouped(result.Failed()), grouped(result.Sent))
	if result.Failed() > 0 {
		if result.First < killed {
			t.Errorf("requests failed before the proxy was killed, after %s: %s", killed, result)
		}
		c.took(result.Last-killed, "the last", limit)
		t.Log(result)
	}
	c.exactly(w.Restarts(t, gatewayName), "restarts", 1)
}
