//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase25RoutesAddedUnderLoad creates thousands of routes, one after the other, and asks for each from its creation on: the answer
// is 404 until it is 200, and never anything else.
//
//nolint:paralleltest // it measures times that others would disturb
func TestCase25RoutesAddedUnderLoad(t *testing.T) {
	const limit = 300 * time.Millisecond
	c := begin(t, "25", "routes are added under load")
	w := newFixture(t)
	w.removeRoutesAtEnd(t)
	run := w.startLoad(t, steadyHost)
	routes := amount(3000, 1000)
	times := make([]time.Duration, 0, routes)
	wrong := map[int]int{}
	for i := range routes {
		route := live.HTTPRoute(fmt.Sprintf("many-%05d", i), gatewayName, manyHost(i), serviceName)
		start := clock.Now()
		w.Make(t, route)
		live.Eventually(t, time.Minute, 2*time.Millisecond, func(context.Context) error {
			switch status := w.status(t, manyHost(i)); status {
			case http.StatusOK:
				return nil
			case http.StatusNotFound:
			default:
				wrong[status]++
			}
			return fmt.Errorf("route %d is not served", i)
		})
		times = append(times, clock.Since(start))
	}
	slices.Sort(times)
	c.note("%s routes, median %s", grouped(routes), rounded(times[len(times)/2]))
	c.took(times[len(times)*99/100], "p99 to live", limit)
	unexpected := 0
	for _, n := range wrong {
		unexpected += n
	}
	c.none(unexpected, "answers but 404 and 200")
	if unexpected > 0 {
		t.Errorf("unexpected answers: %v", wrong)
	}
	c.load(run.Stop())
}
