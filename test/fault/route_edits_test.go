//go:build fault

package fault

import (
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// editPause is what a change is given to arrive in before the next: short enough that some overlap.
const editPause = 100 * time.Millisecond

// TestCase24RouteEditsUnderLoad edits one live route again and again: Service, port, weights, filters on rule and backend, order of rules.
// Every variant answers 200 once it is live, so any other answer is a change that dropped a request: a route that named a cluster
// before the proxy had it, or a cluster that left before its last route.
func TestCase24RouteEditsUnderLoad(t *testing.T) {
	t.Parallel()
	c := begin(t, "24", "edits of a live route under load")
	w := newFixture(t)
	w.VariantServices(t, serviceName)
	route := w.Route(t, "edited", gatewayName, "edited.example.com", live.VariantService)
	w.WaitServed(t, w.address, "edited.example.com")

	run := w.startLoad(t, "edited.example.com")
	edits := amount(300, 100)
	for i := range edits {
		w.edit(t, route, func(route *gwv1.HTTPRoute) { route.Spec.Rules = live.Variant(i) })
		time.Sleep(editPause)
	}
	c.note("%d edits", edits)
	c.load(run.Stop())
}
