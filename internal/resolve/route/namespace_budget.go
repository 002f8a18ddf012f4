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

// Shortage is the first route that a Gateway has no room for, and every younger one of its namespace. The zero value has room for all.
type Shortage struct {
	limits.Cutoff
	// Name is the limit that was met first, and What it limits.
	Name, What string
}

// Shortage finds the routes that a Gateway has no room for. As long as there is room for all, it reads totals only.
func (b NamespaceBudget) Shortage(v *store.View, key string) Shortage {
	var first Shortage
	for _, m := range []struct {
		name, what   string
		total, limit int
		weigh        func(Resolved) int
	}{
		{limits.NameRoutes, "routes", b.ByNamespace.Len(v, key), b.Limits.Routes, func(Resolved) int { return 1 }},
		{limits.NameRules, "rules", b.Rules.Get(v, key), b.Limits.Rules, func(r Resolved) int { return r.RulesByNamespace()[key] }},
		{
			limits.NameNamespaceExpressions, "instructions of regular expressions", b.Expressions.Get(v, key), b.Limits.NamespaceExpressions,
			func(r Resolved) int { return r.ExpressionsByNamespace()[key] },
		},
		{limits.NameBackends, "backends", b.Backends.Len(v, key), b.Limits.Backends, newBackends(key)},
	} {
		if m.total <= m.limit {
			continue
		}
		var items []limits.Item
		for _, r := range b.byAge(v, key) {
			items = append(items, r.item(m.weigh(r)))
		}
		if cutoff := limits.Find(items, m.limit); cutoff.Before(first.Cutoff) {
			first = Shortage{Cutoff: cutoff, Name: m.name, What: m.what}
		}
	}
	return first
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

func (b NamespaceBudget) byAge(v *store.View, key string) []Resolved {
	var list []Resolved
	for _, name := range b.ByNamespace.Keys(v, key) {
		r, _ := b.Routes.Get(v, name)
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y Resolved) int { return x.item(0).Compare(y.item(0)) })
	return list
}

// within takes a route from the Gateways that have no room for it, and says so.
func (r Resolved) within(shortages func(key string) Shortage) Resolved {
	beyond := map[string]Shortage{}
	for _, a := range r.Attachments {
		if s := shortages(r.namespaceKey(a)); r.Excluded(s.Cutoff) {
			beyond[a.Gateway] = s
		}
	}
	if len(beyond) == 0 {
		return r
	}
	r.Attachments = slices.DeleteFunc(slices.Clone(r.Attachments), func(a Attachment) bool { _, out := beyond[a.Gateway]; return out })
	r.Outcome.Parents = slices.Clone(r.Outcome.Parents)
	for i := range r.Outcome.Parents {
		parent := &r.Outcome.Parents[i]
		s, out := beyond[parent.Gateway]
		if !out {
			continue
		}
		parent.Conditions = slices.Clone(parent.Conditions)
		// There is no count of what is too much: it would change all messages with each route.
		parent.Conditions[0] = outcome.Condition{
			Type: string(gwv1.RouteConditionAccepted), State: outcome.False, Reason: string(gwv1.RouteReasonNotAllowedByListeners),
			Message: fmt.Sprintf("Gateway %s takes %d %s of namespace %s, and there are more; this is one of the youngest routes; "+
				"delete some, or ask the operator for more (limit %s)",
				parent.Gateway, s.Limit, s.What, r.Name.Namespace, s.Name),
		}
		parent.Gateway = ""
	}
	return r
}
