package pipeline

import (
	"fmt"
	"maps"
	"sync"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

// shortEndpoints are the backends of which not all endpoints are served, with the limit that is in the way. The endpoint lane finds them,
// and the configuration lane tells the routes.
type shortEndpoints struct {
	mu        sync.Mutex
	byBackend map[ir.Endpoints]string
}

// set says whether anything is different now.
func (s *shortEndpoints) set(byBackend map[ir.Endpoints]string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if maps.Equal(s.byBackend, byBackend) {
		return false
	}
	s.byBackend = byBackend
	return true
}

func (s *shortEndpoints) get() map[ir.Endpoints]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byBackend
}

// takeShort takes in of which backends some endpoints are served and some are not. Requests are served all the same, so their routes
// mention it and are not refused.
func (g *graph) takeShort(short map[ir.Endpoints]string) {
	for name := range g.cut {
		if short[name] != limits.NameEndpoints {
			delete(g.cut, name)
			g.cutEndpoints.Delete(name)
		}
	}
	for name, limit := range short {
		if _, known := g.cut[name]; !known && limit == limits.NameEndpoints {
			g.cut[name] = struct{}{}
			g.cutEndpoints.Set(name, true)
		}
	}
}

// cutTo is how many endpoints of a backend are served if it has more, zero if all are.
func (g *graph) cutTo(v *store.View, backend ir.Backend) int {
	if cut, _ := g.cutEndpoints.Get(v, backend.Endpoints()); !cut {
		return 0
	}
	return g.objects.Limits.Endpoints
}

// noticeEndpoints tells the routes to backends of which no endpoint is served.
func (g *graph) noticeEndpoints(all notices, short map[ir.Endpoints]string) {
	for endpoints, limit := range short {
		if limit != limits.NameNamespaceEndpoints {
			continue
		}
		message := fmt.Sprintf("%s has no endpoints: the Services of namespace %s have more than %d on all their ports together, "+
			"and this is one of the youngest; delete some, or ask the operator for more (limit %s)",
			endpoints.Target(), endpoints.Object.Namespace, g.objects.Limits.NamespaceEndpoints, limit)
		for _, key := range g.usersByTarget.Keys(nil, endpoints.Target()) {
			user := ir.ParseGatewayBackend(key)
			if user.Backend.Endpoints() != endpoints {
				continue
			}
			for _, key := range g.byGatewayBackend.Keys(nil, user) {
				kind, own := store.SplitKindKey(key)
				all.add(subject{kind, own}, user.Gateway, nil, message)
			}
		}
	}
}
