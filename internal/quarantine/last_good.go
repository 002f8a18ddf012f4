package quarantine

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// Remember keeps the live versions that the last step replaced, whatever the cause. It is called before the new state is published.
func (q *Quarantine) Remember() {
	for key, before := range q.tables.Routes.TakeReplaced() {
		kind, name := store.SplitKindKey(key)
		exists := q.tables.Routes.Has(key)
		for _, gateway := range before.Gateways() {
			p := place{key, gateway}
			_, replaced := before.Instead[gateway]
			generation := before.Outcome.Generation
			reported, known := q.reported[p]
			switch {
			case !exists:
				delete(q.lastGood, p)
			case !replaced && (q.convergence.Live(kind, name, gateway) || q.tables.reportedLive(kind, name, gateway,
				generation) || known && reported == generation):
				q.lastGood[p] = before.Part(gateway)
			}
		}
	}
}

// ApplyChange calls apply, which stores a change. Of a route it records what its status reported before. A leader without connected
// proxies overwrites that after a while with a status that waits for them.
func (q *Quarantine) ApplyChange(c store.Change, apply func()) {
	if c.Kind != store.HTTPRoute && c.Kind != store.GRPCRoute {
		apply()
		return
	}
	key := string(c.Kind) + "/" + c.Key
	current, _ := q.tables.Routes.Get(nil, key)
	generation, live := current.Outcome.Generation, []string(nil)
	for _, gateway := range current.Gateways() {
		if q.tables.reportedLive(c.Kind, c.Key, gateway, generation) {
			live = append(live, gateway)
		}
	}
	apply()
	for _, gateway := range live {
		if !q.tables.reportedLive(c.Kind, c.Key, gateway, generation) {
			q.reported[place{key, gateway}] = generation
		}
	}
}

// reportedLive reports whether the status of a route says that a generation is live at a Gateway. A replica that has just started has no
// acknowledgements of its own.
func (t Tables) reportedLive(kind store.Kind, key, gatewayKey string, generation int64) bool {
	return slices.ContainsFunc(t.reports(kind, key, gatewayKey), func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation
	})
}

// reportedAnswer reports whether the status of a route has an answer of the proxies of a Gateway for some version: accepted, rejected, or
// none for a long time. The status of a new route has none.
func (t Tables) reportedAnswer(kind store.Kind, key, gatewayKey string) bool {
	return slices.ContainsFunc(t.reports(kind, key, gatewayKey), func(c metav1.Condition) bool { return c.Status != metav1.ConditionUnknown })
}

// reports returns the conditions in the status of a route about the proxies of a Gateway, for each parent there.
func (t Tables) reports(kind store.Kind, key, gatewayKey string) []metav1.Condition {
	var status gwv1.RouteStatus
	if r, ok := t.Objects.HTTPRoutes.Get(nil, key); ok && kind == store.HTTPRoute {
		status = r.Status.RouteStatus
	} else if r, ok := t.Objects.GRPCRoutes.Get(nil, key); ok && kind == store.GRPCRoute {
		status = r.Status.RouteStatus
	}
	var found []metav1.Condition
	for _, parent := range status.Parents {
		namespace, _ := store.SplitKey(key)
		if parent.ParentRef.Namespace != nil {
			namespace = string(*parent.ParentRef.Namespace)
		}
		if parent.ControllerName != class.Controller(t.Objects) || store.Key(namespace, string(parent.ParentRef.Name)) != gatewayKey {
			continue
		}
		if c := meta.FindStatusCondition(parent.Conditions, outcome.RouteProgrammed); c != nil {
			found = append(found, *c)
		}
	}
	return found
}

// gone reports whether a route is no longer at a Gateway.
func (q *Quarantine) gone(p place) bool {
	current, exists := q.tables.Routes.Get(nil, p.route)
	return !exists || !slices.Contains(current.Gateways(), p.gateway)
}

// live reports whether a route is live at a Gateway as it is.
func (q *Quarantine) live(p place) bool {
	kind, name := store.SplitKindKey(p.route)
	return q.routes[p] == nil && q.convergence.Live(kind, name, p.gateway)
}

// ForgetGood forgets the versions whose successors are live. It is called before a step.
func (q *Quarantine) ForgetGood() {
	if len(q.lastGood)+len(q.waitUntil)+len(q.reported) == 0 {
		return
	}
	maps.DeleteFunc(q.lastGood, func(p place, _ route.Resolved) bool { return q.gone(p) || q.live(p) })
	maps.DeleteFunc(q.waitUntil, func(p place, _ time.Time) bool { return q.gone(p) })
	maps.DeleteFunc(q.reported, func(p place, generation int64) bool {
		current, _ := q.tables.Routes.Get(nil, p.route)
		return current.Outcome.Generation != generation || q.gone(p) || q.live(p)
	})
	if len(q.lastGood) == 0 {
		// A map never gets smaller, and going through an empty one costs what it once held.
		q.lastGood = map[place]route.Resolved{}
	}
}

// release takes out of quarantine what has changed since it was rejected, and what is rejected because of a cluster that has. It reports
// whether there is any of the latter, for which the stages have to run again.
func (q *Quarantine) release() (retried bool) {
	retried = q.releaseRoutes()
	retried = q.releaseFilters() || retried
	retried = q.releaseHosts() || retried
	for _, key := range q.tables.Substitutes.FlatHosts.Keys(nil) {
		if !q.tables.Hosts.Has(key) {
			q.tables.Substitutes.FlatHosts.Delete(key)
		}
	}
	return retried
}

// releaseRoutes does so for routes.
func (q *Quarantine) releaseRoutes() (retried bool) {
	held := q.newHeld()
	for p, entry := range q.routes {
		current, _ := q.tables.Routes.Get(nil, p.route)
		corrected := q.corrected(p.gateway, entry.causes)
		gone := q.gone(p) || entry.beyond && !current.Instead[p.gateway].BeyondLimit
		if gone || corrected || !current.SameRules(entry.rejected) {
			if h, ok := held.of(p, entry); ok && !gone {
				retried = true
				q.keep(p, entry, current, h)
				continue
			}
			retried = retried || corrected
			q.remove(p, entry)
			continue
		}
		switch {
		case entry.apart:
			entry.served, entry.sent = entry.levelAt(p.gateway, current), true
		case entry.applies(current.Instead[p.gateway].BeyondLimit):
			entry.served, entry.sent = entry.level(), true
		}
	}
	return retried
}

// releaseFilters does the same for the filters of listeners.
func (q *Quarantine) releaseFilters() (retried bool) {
	for key, entry := range q.filters {
		corrected := q.corrected(key.Gateway, entry.causes)
		if corrected || !entry.replaces(q.tables.filtersOf(key)) {
			retried = retried || corrected
			delete(q.filters, key)
			q.tables.Substitutes.Filters.Delete(key)
			q.withdraw(filtersKey(key), digestOf(entry.rejected))
		}
	}
	return retried
}

// remove takes a route out of quarantine.
func (q *Quarantine) remove(p place, entry *routeEntry) {
	q.index(p, nil)
	q.setRoutes(p.route)
	q.withdraw(p.offerKey(), digestOf(entry.rejected.Rules))
}

// filtersOf returns the filters that a listener asks for.
func (t Tables) filtersOf(id ir.ListenerID) []ir.ListenerFilter {
	r, _ := t.Gateways.Get(nil, id.Gateway)
	i := slices.IndexFunc(r.Listeners, func(l gateway.Listener) bool { return l.ID == id.Listener })
	if i < 0 {
		return nil
	}
	return r.Listeners[i].Filters
}
