//go:build fault

package fault

import (
	"fmt"
	"testing"
	"time"
)

// TestCase07XDSStreamReset resets a proxy's connection to the control plane again and again, and creates a route right after each time.
func TestCase07XDSStreamReset(t *testing.T) {
	t.Parallel()
	const (
		pause = 5 * time.Second
		limit = 2 * time.Second
	)
	c := begin(t, "7", "the xDS stream is cut every 5 s")
	w := newFixture(t)
	proxy := w.OneProxy(t, gatewayName)
	run := w.startLoad(t, steadyHost)
	cuts := 0
	var slowest time.Duration
	for start := time.Now(); time.Since(start) < span(5*time.Minute, 30*time.Second); cuts++ {
		next := time.After(pause)
		cutStream(t, proxy)
		slowest = max(slowest, w.serveMore(t, fmt.Sprintf("cut-%d", cuts)))
		<-next
	}
	c.note("%d cuts", cuts)
	c.took(slowest, "slowest route after a cut", limit)
	c.load(run.Stop())
	c.none(w.Restarts(t, gatewayName), "proxy restarts")
}
