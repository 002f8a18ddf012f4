package pipeline

import (
	"cmp"
	"fmt"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

const stageRouteStatus = "route status"

// The reasons of a route's ResolvedRefs for a backend that exists and gets no connection. The standard asks for a reason that
// indicates the cause, and has no word for these.
const (
	reasonInvalidPolicy  = "InvalidBackendTLSPolicy"
	reasonInvalidBackend = "InvalidBackend"
)

// addRouteStatusStages adds the stages that says what becomes of routes. It stands behind hosts and backends: what they know of a route is
// told, and changes nothing that proxies are sent. A route reads only the hosts that have a rule of it that gets no requests.
func (g *graph) addRouteStatusStages(routes []store.Source, byShadowed *store.Index[ir.VirtualHost]) {
	g.routeStatus = memo.Derive(g.memo, stageRouteStatus, routes, deepEqual[outcome.Route],
		func(v *store.View, key string) outcome.Route {
			r, _ := g.routes.Get(v, key)
			findings := route.Findings{
				Refused: func(backend ir.Backend) *refs.Problem { return g.refusedBackend(v, backend) },
				Idle:    func(backend ir.Backend) bool { return g.isIdle(v, backend) },
				CutTo:   func(backend ir.Backend) int { return g.cutTo(v, backend) },
				Policies: func(listener ir.ListenerID) *inherit.Layer {
					layer, _ := g.inherited.listeners.Get(v, listener)
					return layer
				},
				Shadows: map[ir.HostID][]ir.Shadow{},
			}
			for _, name := range byShadowed.Keys(v, key) {
				id := ir.ParseHostID(name)
				host, _ := g.hosts.Get(v, id)
				findings.Shadows[id] = host.Shadowed
			}
			return r.Report(findings)
		}, memo.OnPanic(func(v *store.View, key string, _ outcome.Route, _ string) outcome.Route {
			r, _ := g.routes.Get(v, key)
			return r.Outcome
		}))
}

// shadowedRoutes are the routes that have a rule at a host which gets no requests.
func shadowedRoutes(_ string, h ir.VirtualHost) []string {
	var keys []string
	for _, s := range h.Shadowed {
		if kind, name, ok := route.ObjectOf(s.Rule); ok {
			keys = append(keys, string(kind)+"/"+name)
		}
	}
	return keys
}

// refusedBackend says why there is no connection to a backend, in the words of the object at fault.
func (g *graph) refusedBackend(v *store.View, backend ir.Backend) *refs.Problem {
	tls, _ := g.tls.byBackend.Get(v, backend)
	if tls == nil || !tls.FailClosed {
		return nil
	}
	if backend.Kind == ir.KindXBackend {
		if own, _ := g.xbackends.Get(v, backend.Object.String()); own.Accepted != nil {
			return &refs.Problem{
				Reason: reasonInvalidBackend, Message: fmt.Sprintf("XBackend %s cannot be used: %s", backend.Object, own.Accepted.Message),
			}
		}
	}
	if backend.Kind == ir.KindBackend {
		if own, _ := g.fixedBackends.Get(v, backend.Object.String()); own.Accepted != nil {
			return &refs.Problem{
				Reason: reasonInvalidBackend, Message: fmt.Sprintf("Backend %s cannot be used: %s", backend.Object, own.Accepted.Message),
			}
		}
	}
	if backend.Kind == ir.KindInferencePool {
		own, _ := g.pools.Get(v, backend.Object.String())
		if problem := cmp.Or(own.Accepted, own.ResolvedRefs); problem != nil {
			return &refs.Problem{
				Reason: reasonInvalidBackend, Message: fmt.Sprintf("InferencePool %s cannot be used: %s", backend.Object, problem.Message),
			}
		}
	}
	if key := tls.Origin.Name.String(); tls.Origin.Kind == string(store.BackendTLSPolicy) {
		if p, _ := g.policies.Get(v, key); p.Accepted != nil {
			return &refs.Problem{
				Reason:  reasonInvalidPolicy,
				Message: fmt.Sprintf("BackendTLSPolicy %s for %s %s cannot be served: %s", key, backend.Kind, backend.Object, p.Accepted.Message),
			}
		}
	}
	return &refs.Problem{
		Reason:  reasonInvalidPolicy,
		Message: fmt.Sprintf("it is not known how connections to %s are to be secured, so there are none", backend.Object),
	}
}

// isIdle says whether a backend has no ready endpoints, as the lane of endpoints has told.
func (g *graph) isIdle(v *store.View, backend ir.Backend) bool {
	idle, _ := g.idle.Get(v, backend.Endpoints())
	return idle
}

// takeIdle takes in which endpoints are none, and which are some again.
func (g *graph) takeIdle(changed map[ir.Endpoints]bool) {
	for endpoints, idle := range changed {
		if idle {
			g.idle.Set(endpoints, true)
		} else {
			g.idle.Delete(endpoints)
		}
	}
}

// publishRoutes says what became of routes whose outcome is new, and of those that mean something else to proxies, who have to
// prove it anew.
func (g *graph) publishRoutes(statuses Statuses) {
	changed := map[string]struct{}{}
	for _, table := range [][]string{g.routes.TakeChanged(), g.routeStatus.TakeChanged()} {
		for _, key := range table {
			changed[key] = struct{}{}
		}
	}
	for key := range changed {
		kind, name := store.SplitKindKey(key)
		if o, ok := g.routeStatus.Get(nil, key); ok {
			statuses.SetRoute(kind, name, o)
		} else {
			statuses.Forget(kind, name)
		}
	}
}
