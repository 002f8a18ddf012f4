package pipeline

import (
	"maps"
	"reflect"
	"slices"

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
			switch {
			case !exists:
				delete(q.good, p)
			case !replaced && (q.to.Proofs.Live(kind, name, gateway) || q.graph.reportedLive(kind, name, gateway, before.Outcome.Generation)):
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

// anyGeneration is for [graph.reportedLive].
const anyGeneration = -1

// reportedLive says whether the status of a route says that a generation is served at a Gateway. A replica that has just started has proved
// nothing itself.
func (g *graph) reportedLive(kind store.Kind, key, gatewayKey string, generation int64) bool {
	var status gwv1.RouteStatus
	if r, ok := g.objects.HTTPRoutes.Get(nil, key); ok && kind == store.HTTPRoute {
		status = r.Status.RouteStatus
	} else if r, ok := g.objects.GRPCRoutes.Get(nil, key); ok && kind == store.GRPCRoute {
		status = r.Status.RouteStatus
	}
	for _, parent := range status.Parents {
		namespace, _ := store.SplitKey(key)
		if parent.ParentRef.Namespace != nil {
			namespace = string(*parent.ParentRef.Namespace)
		}
		if parent.ControllerName != gateway.ControllerName || store.Key(namespace, string(parent.ParentRef.Name)) != gatewayKey {
			continue
		}
		if c := meta.FindStatusCondition(parent.Conditions, outcome.RouteProgrammed); c != nil && c.Status == metav1.ConditionTrue && (generation == anyGeneration || c.ObservedGeneration == generation) {
			return true
		}
	}
	return false
}

// forgetGood lets go of the versions whose successors are live.
func (q *quarantine) forgetGood() {
	if len(q.good)+len(q.goodFilters) == 0 {
		return
	}
	maps.DeleteFunc(q.good, func(p place, _ route.Resolved) bool {
		kind, name := splitRouteKey(p.route)
		current, exists := q.graph.routes.Get(nil, p.route)
		return !exists || !slices.Contains(current.Gateways(), p.gateway) || q.routes[p] == nil && q.to.Proofs.Live(kind, name, p.gateway)
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

// quarantinedBackends are the backends of filters that are served instead of refused ones.
func (f quarantinedFilters) backends() []string {
	var names []string
	for _, filter := range f.instead {
		if filter.Backend != "" {
			names = append(names, filter.Backend)
		}
	}
	return names
}
