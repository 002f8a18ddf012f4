//go:build fault

package fault

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase04APIServerUnreachable drops every packet between the controllers and the API server. Meanwhile a proxy whose stream is cut is
// served again, no controller exits, and what changed arrives when the API server is back.
//
//nolint:paralleltest // it takes the controller from every other case
func TestCase04APIServerUnreachable(t *testing.T) {
	const limit = 5 * time.Second
	c := begin(t, "4", "the API server cannot be reached by the controllers")
	w := newFixture(t)
	w.WaitControllers(t, 2, nil)
	before := w.controllerStarts(t)
	run := w.startLoad(t, steadyHost)
	outage := span(5*time.Minute, 40*time.Second)
	start := time.Now()
	restore := w.cutAPIServer(t, outage+2*time.Minute)

	route := w.Route(t, "meanwhile", gatewayName, "meanwhile.example.com", serviceName)
	// By then the leader has lost its lease.
	time.Sleep(20 * time.Second)
	proxy, streams := w.OneProxy(t, gatewayName), w.streams(t)
	cut := clock.Now()
	cutStream(t, proxy)
	time.Sleep(time.Second) // so that the old one is no longer counted
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(context.Context) error {
		if now := w.streams(t); now < streams {
			return fmt.Errorf("%d proxies are served, and %d were", now, streams)
		}
		return nil
	})
	reconnected := clock.Since(cut)
	time.Sleep(outage - time.Since(start))
	if _, err := w.Request(t.Context(), w.address, "meanwhile.example.com"); err == nil {
		t.Error("a route arrived, so nothing was cut")
	}
	restore()
	outage = time.Since(start)
	back := clock.Now()
	w.waitHost(t, w.address, "meanwhile.example.com")
	served := clock.Since(back)
	live.Eventually(t, time.Minute, 10*time.Millisecond, func(ctx context.Context) error { return w.RouteAccepted(ctx, route) })
	reported := clock.Since(back)
	more := w.serveMore(t, "after")

	c.note("cut for %s", rounded(outage))
	c.took(reconnected, "a proxy that was cut off is served after", 15*time.Second)
	c.took(served, "caught up after", limit)
	c.took(reported, "statuses after", limit)
	c.took(more, "one more route after", limit)
	c.load(run.Stop())
	exits := 0
	if after := w.controllerStarts(t); !slices.Equal(before, after) {
		exits++
		t.Errorf("the controllers were %v and are %v", before, after)
	}
	c.none(exits, "exits")
}
