package pipeline

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// remember keeps what was live of what the last step replaced, whatever the cause. It is called before the new state is known to anybody.
func (q *quarantine) remember() {
	for key, before := range q.graph.routes.TakeReplaced() {
		kind, name := splitRouteKey(key)
		exists := q.graph.routes.Has(key)
		for _, gateway := range before.Gateways() {
			p := place{key, gateway}
			_, replaced := before.Instead[gateway]
			generation := before.Outcome.Generation
			reported, known := q.reported[p]
			switch {
			case !exists:
				delete(q.good, p)
			case !replaced && (q.to.Proofs.Live(kind, name, gateway) || q.graph.reportedLive(kind, name, gateway, generation) || known && reported == generation):
				q.good[p] = before.Part(gateway)
			}
		}
	}
	for table, before := range q.graph.tableListeners.TakeReplaced() {
		gateway := route.GatewayOf(table)
		if !q.to.Proofs.Live(store.Gateway, gateway, gateway) {
			continue
		}
		for _, l := range before {
			if key := route.ListenerKey(gateway, l.ID); q.filters[key] == nil {
				q.goodFilters[key] = l.Filters
			}
		}
	}
}

// noteReported notes of a route that a change is about what its status said when this replica saw it last. A leader that none of the
// proxies has found says after a while that it waits for them, and that is all that the next version of the object says.
func (q *quarantine) noteReported(c store.Change, take func()) {
	if c.Kind != store.HTTPRoute && c.Kind != store.GRPCRoute {
		take()
		return
	}
	key := string(c.Kind) + "/" + c.Key
	current, _ := q.graph.routes.Get(nil, key)
	generation, live := current.Outcome.Generation, []string(nil)
	for _, gateway := range current.Gateways() {
		if q.graph.reportedLive(c.Kind, c.Key, gateway, generation) {
			live = append(live, gateway)
		}
	}
	take()
	for _, gateway := range live {
		if !q.graph.reportedLive(c.Kind, c.Key, gateway, generation) {
			q.reported[place{key, gateway}] = generation
		}
	}
}

// reportedLive says whether the status of a route says that a generation is served at a Gateway. A replica that has just started has proved
// nothing itself.
func (g *graph) reportedLive(kind store.Kind, key, gatewayKey string, generation int64) bool {
	return slices.ContainsFunc(g.reports(kind, key, gatewayKey), func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation
	})
}

// reportedJudged says whether the status of a route says that proxies of a Gateway have had some version of it, have refused it, or have
// not been heard of for long. Of a route that is new it says neither.
func (g *graph) reportedJudged(kind store.Kind, key, gatewayKey string) bool {
	return slices.ContainsFunc(g.reports(kind, key, gatewayKey), func(c metav1.Condition) bool { return c.Status != metav1.ConditionUnknown })
}

// reports are what the status of a route says of the proxies of a Gateway, for each parent there.
func (g *graph) reports(kind store.Kind, key, gatewayKey string) []metav1.Condition {
	var status gwv1.RouteStatus
	if r, ok := g.objects.HTTPRoutes.Get(nil, key); ok && kind == store.HTTPRoute {
		status = r.Status.RouteStatus
	} else if r, ok := g.objects.GRPCRoutes.Get(nil, key); ok && kind == store.GRPCRoute {
		status = r.Status.RouteStatus
	}
	var found []metav1.Condition
	for _, parent := range status.Parents {
		namespace, _ := store.SplitKey(key)
		if parent.ParentRef.Namespace != nil {
			namespace = string(*parent.ParentRef.Namespace)
		}
		if parent.ControllerName != gateway.Controller(g.objects) || store.Key(namespace, string(parent.ParentRef.Name)) != gatewayKey {
			continue
		}
		if c := meta.FindStatusCondition(parent.Conditions, outcome.RouteProgrammed); c != nil {
			found = append(found, *c)
		}
	}
	return found
}

// gone says whether a route is no longer at a Gateway.
func (q *quarantine) gone(p place) bool {
	current, exists := q.graph.routes.Get(nil, p.route)
	return !exists || !slices.Contains(current.Gateways(), p.gateway)
}

// proved says whether a route is live at a Gateway as it is.
func (q *quarantine) proved(p place) bool {
	kind, name := splitRouteKey(p.route)
	return q.routes[p] == nil && q.to.Proofs.Live(kind, name, p.gateway)
}

// forgetGood lets go of the versions whose successors are live.
func (q *quarantine) forgetGood() {
	if len(q.good)+len(q.goodFilters)+len(q.patience)+len(q.reported) == 0 {
		return
	}
	maps.DeleteFunc(q.good, func(p place, _ route.Resolved) bool { return q.gone(p) || q.proved(p) })
	maps.DeleteFunc(q.patience, func(p place, _ time.Time) bool { return q.gone(p) })
	maps.DeleteFunc(q.reported, func(p place, generation int64) bool {
		current, _ := q.graph.routes.Get(nil, p.route)
		return current.Outcome.Generation != generation || q.gone(p) || q.proved(p)
	})
	maps.DeleteFunc(q.goodFilters, func(key string, _ []ir.ExternalAuth) bool {
		gateway, _ := splitKey(key)
		return q.filters[key] == nil && (q.to.Proofs.Live(store.Gateway, gateway, gateway) || !q.graph.gateways.Has(gateway))
	})
	if len(q.good) == 0 {
		// A map never gets smaller, and going through an empty one costs what it once held.
		q.good = map[place]route.Resolved{}
	}
}

// release takes out of quarantine what is no longer as it was refused.
func (q *quarantine) release() {
	for p, entry := range q.routes {
		current, _ := q.graph.routes.Get(nil, p.route)
		if _, replaced := current.Instead[p.gateway]; replaced {
			entry.served = entry.level()
			continue
		}
		delete(q.offers, p.offerKey())
		delete(q.routes, p)
		q.setRoutes(p.route)
		q.to.Peers.Withdraw(p.offerKey())
	}
	for key, entry := range q.filters {
		if !slices.EqualFunc(q.graph.filtersOf(key), entry.refused, sameFilter) {
			delete(q.filters, key)
			q.graph.quarantinedFilters.Delete(key)
			delete(q.offers, filtersKey(key))
			q.to.Peers.Withdraw(filtersKey(key))
		}
	}
	for _, key := range q.graph.flatHosts.Keys(nil) {
		if !q.graph.hosts.Has(key) {
			q.graph.flatHosts.Delete(key)
		}
	}
}

// filtersOf are the filters that a listener asks for, by `<gateway>|<listener>`.
func (g *graph) filtersOf(key string) []ir.ExternalAuth {
	name, id := splitKey(key)
	r, _ := g.gateways.Get(nil, name)
	i := slices.IndexFunc(r.Listeners, func(l gateway.Listener) bool { return l.ID == id })
	if i < 0 {
		return nil
	}
	return r.Listeners[i].Filters
}

// replacesFilters says whether filters from before may be served instead of refused ones. Whether they may still ask a backend in another
// namespace is known only of those that the refused ones ask too.
func replacesFilters(key string, good, refused []ir.ExternalAuth) bool {
	if slices.EqualFunc(good, refused, sameFilter) {
		return false
	}
	gateway, _ := splitKey(key)
	return !slices.ContainsFunc(good, func(f ir.ExternalAuth) bool {
		backend, ok := ir.ParseBackend(f.Backend)
		asked := slices.ContainsFunc(refused, func(r ir.ExternalAuth) bool { return r.Backend == f.Backend })
		return f.Backend == "" || !asked && (!ok || backend.Object.Namespace != ir.ParseName(gateway).Namespace)
	})
}

func sameFilter(a, b ir.ExternalAuth) bool { return reflect.DeepEqual(a, b) }

// listenersServed are the listeners of a table, with filters in quarantine replaced.
func (g *graph) listenersServed(v *store.View, table string) []gateway.ParentListener {
	name := route.GatewayOf(table)
	listeners := gateway.TableListeners(v, g.gateways, name, table)
	for i := range listeners {
		l := &listeners[i]
		if entry, ok := g.quarantinedFilters.Get(v, route.ListenerKey(name, l.ID)); ok && slices.EqualFunc(l.Filters, entry.refused, sameFilter) {
			l.Filters = entry.instead
		}
	}
	return listeners
}

// needs is what proxies need for the filters that are served instead of refused ones.
func (f quarantinedFilters) needs() *ir.Needs {
	needs := &ir.Needs{}
	for i := range f.instead {
		needs.Add(&f.instead[i])
	}
	return needs
}
