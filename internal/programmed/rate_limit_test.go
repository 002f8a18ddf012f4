package programmed

import (
	"testing"
	"testing/synctest"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// TestALimitedRouteWaitsForTheRateLimitService: proxies and all ready pods of the service have to know its limits. Others do not wait.
func TestALimitedRouteWaitsForTheRateLimitService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		group := xds.GroupID(ir.RateLimitService)
		r.Fleet(ir.Gateway{Name: ir.RateLimitService}, "system/limits")
		counting := sliceOf("limits", "x", "y")
		counting.Labels = map[string]string{discoveryv1.LabelServiceName: "limits"}
		r.Endpoints("system/limits-slice", counting)
		for _, name := range []string{"x", "y"} {
			r.Connected(xds.Identity{Group: group, Pod: name})
		}
		r.Connected(pod("a"))
		r.Reach(map[xds.GroupID]string{webGroup: "1", group: "1"}, time.Now())
		limited := route(1)
		limited.RateLimited = true
		r.SetRoute(store.HTTPRoute, "limited", limited)
		r.SetRoute(store.HTTPRoute, "plain", route(1))
		r.Holds(pod("a"), "1")
		synctest.Wait()
		l.expect(t, "plain", "True/Programmed")
		l.expect(t, "limited", "Unsettled/Pending")

		r.Holds(xds.Identity{Group: group, Pod: "x"}, "1")
		l.expect(t, "limited", "Unsettled/Pending")
		time.Sleep(2 * time.Minute)
		l.expect(t, "limited", "False/Pending")
		const want = "1 pods of the rate limit service have not acknowledged the limits: y; see the logs of their " +
			"container forward, and whether it reaches Gatewright"
		if got := message(l.route("limited")); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
		// Another replica serves the other pod.
		r.PeerHolds("other", xds.Identity{Group: group, Pod: "y"}, time.Now(), "1", false)
		l.expect(t, "limited", "True/Programmed")
	})
}

func message(o outcome.Route) string {
	conditions := o.Parents[0].Conditions
	return conditions[len(conditions)-1].Message
}
