package pipeline

import (
	"testing"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// A changed listener drains its connections, and Envoy closes what is left of them after a minute. So no route for requests may change one.
func TestRoutesForRequestsChangeNoListener(t *testing.T) {
	t.Parallel()
	w := fuzzobjects.New(21, 22)
	g := newGraph()
	g.objects.System = fuzzobjects.System
	changed, routes := 0, 0
	for step := range steps {
		c := w.Change()
		g.objects.Apply(c)
		g.memo.Run()
		changes, _ := g.resourceChanges()
		request := c.Kind == store.HTTPRoute || c.Kind == store.GRPCRoute
		if request && len(changes) > 0 {
			routes++
		}
		for _, change := range changes {
			if change.Type != xds.Listener {
				continue
			}
			changed++
			if request {
				t.Fatalf("step %d: %s %s changed listener %s of %s", step, c.Kind, c.Key, change.Name, change.Group)
			}
		}
	}
	if changed == 0 || routes == 0 {
		t.Errorf("there are too few objects: %d changes of listeners, %d routes that changed anything", changed, routes)
	}
}
