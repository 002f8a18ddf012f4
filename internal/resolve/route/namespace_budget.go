package route

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// NamespaceKeys are the Gateways a route attaches to, as `<gateway>|<namespace>`.
func (r Resolved) NamespaceKeys() []string {
	var keys []string
	for _, a := range r.Attachments {
		keys = append(keys, r.namespaceKey(a))
	}
	return unique(keys)
}

func (r Resolved) namespaceKey(a Attachment) string { return a.Gateway + "|" + r.Name.Namespace }

// hostsByNamespace counts the hostnames of a route, by [Resolved.NamespaceKeys]. Its rules are sent to proxies for each.
func (r Resolved) hostsByNamespace() map[string]int {
	counts := map[string]int{}
	if len(r.Attachments) == 1 {
		counts[r.namespaceKey(r.Attachments[0])] = len(r.Attachments[0].Hosts)
		return counts
	}
	seen := map[ir.HostID]bool{}
	for _, a := range r.Attachments {
		for _, h := range a.Hosts {
			if host := a.Table.Host(h.Domain); !seen[host] {
				seen[host] = true
				counts[r.namespaceKey(a)]++
			}
		}
	}
	return counts
}

// RulesByNamespace is how many rules the route has at each Gateway, by [Resolved.NamespaceKeys].
func (r Resolved) RulesByNamespace() map[string]int { return r.timesHosts(len(r.Rules)) }

// ExpressionsByNamespace is the same for the instructions of its regular expressions.
func (r Resolved) ExpressionsByNamespace() map[string]int { return r.timesHosts(r.Expressions) }

func (r Resolved) timesHosts(n int) map[string]int {
	if n == 0 {
		return nil
	}
	counts := r.hostsByNamespace()
	for key := range counts {
		counts[key] *= n
	}
	return counts
}

// BackendsByNamespace are the backends that the route needs at each Gateway, by [Resolved.NamespaceKeys].
func (r Resolved) BackendsByNamespace() map[string][]string {
	if len(r.Backends) == 0 {
		return nil
	}
	backends := map[string][]string{}
	for _, a := range r.Attachments {
		key := r.namespaceKey(a)
		for _, b := range r.backendsAt(a) {
			backends[key] = append(backends[key], b.String())
		}
	}
	for key, names := range backends {
		backends[key] = unique(names)
	}
	return backends
}

// NamespaceBudget is what the routes of one namespace may take of one Gateway. Everything is by [Resolved.NamespaceKeys].
type NamespaceBudget struct {
	Routes             *store.Table[Resolved]
	ByNamespace        *store.Index[Resolved]
	Rules, Expressions *store.Sums[Resolved]
	Backends           *store.Distinct[Resolved]
	Limits             *limits.Limits
}

// Shortage are the limits of a Gateway that the routes of a namespace exceed.
type Shortage []Exceeded

// Exceeded is a limit, and which routes are beyond it.
type Exceeded struct {
	limits.Tiers
	// Name is the limit, and What it limits.
	Name, What string
	// Taken are the backends of the routes within the limit, sorted: another route that uses only these takes nothing.
	Taken []string
}

// measure is something of which a Gateway takes so much of a namespace.
type measure struct {
	name, what   string
	total, limit int
	// weigh is how much of it a route takes, and closed says that a route takes as much of it while it answers errors.
	weigh  func(Resolved) int
	closed bool
}

// Shortage finds the routes that a Gateway has no room for. As long as there is room for all, it reads totals only.
func (b NamespaceBudget) Shortage(v *store.View, key string) Shortage {
	var all Shortage
	for _, m := range []measure{
		{limits.NameRoutes, "routes", b.ByNamespace.Len(v, key), b.Limits.Routes, weighs(limits.NameRoutes, key), true},
		{limits.NameRules, "rules", b.Rules.Get(v, key), b.Limits.Rules, weighs(limits.NameRules, key), true},
		{
			limits.NameNamespaceExpressions, "instructions of regular expressions", b.Expressions.Get(v, key), b.Limits.NamespaceExpressions,
			weighs(limits.NameNamespaceExpressions, key), false,
		},
		{limits.NameBackends, "backends", b.Backends.Len(v, key), b.Limits.Backends, newBackends(key), false},
	} {
		if m.total <= m.limit {
			continue
		}
		var items []limits.Item
		routes := b.byAge(v, key)
		for _, r := range routes {
			items = append(items, r.item(m.weigh(r)))
		}
		e := Exceeded{Tiers: limits.Tiers{Closed: limits.Share(items, m.limit)}, Name: m.name, What: m.what}
		if m.closed {
			e.Tiers = limits.Tier(items, m.limit)
		}
		if m.name == limits.NameBackends {
			e.Taken = takenBackends(e.Closed, routes, key)
		}
		all = append(all, e)
	}
	return all
}

// of is the first limit that a route is beyond, and what becomes of it.
func (s Shortage) of(r Resolved, key string) (Exceeded, limits.Place) {
	var first Exceeded
	worst := limits.Served
	for _, e := range s {
		if place := e.Of(r.item(e.weigh(r, key))); place > worst {
			first, worst = e, place
		}
	}
	return first, worst
}

// weigh is how much of the limit a route takes beside those within it.
func (e Exceeded) weigh(r Resolved, key string) int {
	if e.Name != limits.NameBackends {
		return weighs(e.Name, key)(r)
	}
	count := 0
	for _, name := range r.BackendsByNamespace()[key] {
		if _, taken := slices.BinarySearch(e.Taken, name); !taken {
			count++
		}
	}
	return count
}

// weighs is how much of a limit a route takes.
func weighs(name, key string) func(Resolved) int {
	return func(r Resolved) int {
		switch name {
		case limits.NameRules:
			return r.RulesByNamespace()[key]
		case limits.NameNamespaceExpressions:
			return r.ExpressionsByNamespace()[key]
		default:
			return 1
		}
	}
}

// newBackends counts the backends that no route before has.
func newBackends(key string) func(Resolved) int {
	seen := map[string]bool{}
	return func(r Resolved) int {
		before := len(seen)
		for _, name := range r.BackendsByNamespace()[key] {
			seen[name] = true
		}
		return len(seen) - before
	}
}

// takenBackends are those of the routes before the first that there is no room for.
func takenBackends(closed limits.Shares, routes []Resolved, key string) []string {
	var taken []string
	for _, r := range routes {
		if !closed.Excludes(r.item(1)) {
			taken = append(taken, r.BackendsByNamespace()[key]...)
		}
	}
	return unique(taken)
}

func (b NamespaceBudget) byAge(v *store.View, key string) []Resolved {
	var list []Resolved
	for _, name := range b.ByNamespace.Keys(v, key) {
		r, _ := b.Routes.Get(v, name)
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y Resolved) int { return x.item(0).Compare(y.item(0)) })
	return list
}

// within has a route answer errors at the Gateways that have no room for it, and says so. One that there is no room for even so is taken
// from the Gateway, where all routes of its namespace answer errors then.
func (r Resolved) within(shortages func(key string) Shortage) Resolved {
	beyond, leftOut := map[string]Exceeded{}, map[string]bool{}
	for _, a := range r.Attachments {
		if e, place := shortages(r.namespaceKey(a)).of(r, r.namespaceKey(a)); place != limits.Served {
			beyond[a.Gateway], leftOut[a.Gateway] = e, place == limits.LeftOut
		}
	}
	if len(beyond) == 0 {
		return r
	}
	r.Attachments = slices.DeleteFunc(slices.Clone(r.Attachments), func(a Attachment) bool { return leftOut[a.Gateway] })
	for gateway := range beyond {
		if !leftOut[gateway] {
			r = r.With(gateway, r.cheaply().On(r, gateway))
		}
	}
	r.Outcome.Parents = slices.Clone(r.Outcome.Parents)
	for i := range r.Outcome.Parents {
		parent := &r.Outcome.Parents[i]
		e, out := beyond[parent.Gateway]
		if !out {
			continue
		}
		parent.Conditions = slices.Clone(parent.Conditions)
		// There is no count of what is too much: it would change all messages with each route.
		parent.Conditions[0] = outcome.Condition{
			Type: string(gwv1.RouteConditionAccepted), State: outcome.False, Reason: string(gwv1.RouteReasonNotAllowedByListeners),
			Message: fmt.Sprintf("Gateway %s takes %d %s of namespace %s, and there are more%s; "+
				"delete some, or ask the operator for more (limit %s)",
				parent.Gateway, e.Limit(), e.What, r.Name.Namespace, r.consequence(e, leftOut[parent.Gateway]), e.Name),
		}
		parent.Gateway = ""
	}
	return r
}

// consequence says what becomes of a route beyond a limit.
func (r Resolved) consequence(e Exceeded, leftOut bool) string {
	switch answer := failure(r.Kind).StatusCode; {
	case leftOut:
		return ", even of those that only answer errors; this is one of the youngest routes, and is left out"
	case e.Full():
		return fmt.Sprintf(", even of those that only answer errors; so all its routes answer %d", answer)
	case r.Stream != nil:
		return "; this is one of the youngest routes, and its connections are closed"
	default:
		return fmt.Sprintf("; this is one of the youngest routes, and its requests are answered %d", answer)
	}
}
