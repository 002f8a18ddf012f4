package pipeline

import (
	"fmt"
	"maps"
	"sync"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// shortEndpoints are the backends of which not all endpoints are served, with the limit that is in the way. The endpoint lane finds them,
// and the configuration lane tells the routes.
type shortEndpoints struct {
	mu        sync.Mutex
	byBackend map[string]string
}

// set says whether anything is different now.
func (s *shortEndpoints) set(byBackend map[string]string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if maps.Equal(s.byBackend, byBackend) {
		return false
	}
	s.byBackend = byBackend
	return true
}

func (s *shortEndpoints) get() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byBackend
}

// takeShort takes in of which backends some endpoints are served and some are not. Requests are served all the same, so their routes
// mention it and are not refused.
func (g *graph) takeShort(short map[string]string) {
	for name := range g.cut {
		if short[name] != limitEndpoints {
			delete(g.cut, name)
			g.cutEndpoints.Delete(name)
		}
	}
	for name, limit := range short {
		if _, known := g.cut[name]; !known && limit == limitEndpoints {
			g.cut[name] = struct{}{}
			g.cutEndpoints.Set(name, true)
		}
	}
}

// cutTo is how many endpoints of a backend are served if it has more, zero if all are.
func (g *graph) cutTo(v *store.View, name string) int {
	backend, ok := ir.ParseBackend(name)
	if !ok {
		return 0
	}
	if cut, _ := g.cutEndpoints.Get(v, backend.EndpointsName()); !cut {
		return 0
	}
	return g.objects.Limits.Endpoints
}

// noticeEndpoints tells the routes to backends of which no endpoint is served.
func (g *graph) noticeEndpoints(all notices, short map[string]string) {
	for name, limit := range short {
		if limit != limitNamespaceEndpoints {
			continue
		}
		backend, _ := ir.ParseBackend(name)
		message := fmt.Sprintf("%s has no endpoints: the Services of namespace %s have more than %d on all their ports together, "+
			"and this is one of the youngest; delete some, or ask the operator for more (limit %s)",
			backend.Target(), backend.Object.Namespace, g.objects.Limits.NamespaceEndpoints, limit)
		for _, user := range g.usersByTarget.Keys(nil, backend.Target()) {
			gateway, used := splitKey(user)
			if way, _ := ir.ParseBackend(used); way.EndpointsName() != name {
				continue
			}
			for _, key := range g.byGatewayBackend.Keys(nil, route.BackendKey(gateway, used)) {
				kind, own := splitRouteKey(key)
				all.add(subject{kind, own}, gateway, nil, message)
			}
		}
	}
}
