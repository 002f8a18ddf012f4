//go:build fault

package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase03LeaderKilled kills the leader under load: another replica takes the lease, and writes the status of a route that came
// meanwhile.
//
//nolint:paralleltest // it takes the leader from every other case
func TestCase03LeaderKilled(t *testing.T) {
	const (
		leaderLimit = 20 * time.Second
		statusLimit = 30 * time.Second
	)
	c := begin(t, "3", "the leader is killed")
	w := newFixture(t)
	w.WaitControllers(t, 2, nil)
	run := w.startLoad(t, steadyHost)
	old := w.leaderPod(t)
	killed := clock.Now()
	w.Kill(t, old)
	route := w.Route(t, "orphan", gatewayName, "orphan.example.com", serviceName)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		holder, err := w.Leader(ctx)
		if err == nil && strings.HasPrefix(holder, old.Name) {
			err = fmt.Errorf("%s, which is dead, still holds the lease", holder)
		}
		return err
	})
	leader := clock.Since(killed)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error { return w.RouteAccepted(ctx, route) })
	status := clock.Since(killed)
	w.WaitServed(t, w.address, "orphan.example.com")

	c.took(leader, "a new leader after", leaderLimit)
	c.took(status, "statuses after", statusLimit)
	c.load(run.Stop())
	w.WaitControllers(t, 2, map[string]bool{old.Name: true})
}
