package route

import (
	"fmt"
	"slices"
	"strings"

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

// gatewayOf and namespaceOf are the parts of one of [Resolved.NamespaceKeys].
func gatewayOf(key string) string {
	gateway, _, _ := strings.Cut(key, "|")
	return gateway
}

func namespaceOf(key string) string {
	_, namespace, _ := strings.Cut(key, "|")
	return namespace
}

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
	// Bytes is the sum of [Resolved.ChargedBytes].
	Bytes    *store.Sums[Resolved]
	Backends *store.Distinct[Resolved]
	// Gateways has the [GatewayBudget.Tiers] of each Gateway.
	Gateways *store.Table[limits.Tiers]
	Limits   *limits.Limits
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
	// weigh is how much of it a route takes, and closed how much while it answers errors, nil for nothing.
	weigh  func(Resolved) int
	closed func(Resolved) int
}

// Shortage finds the routes that a Gateway has no room for. As long as there is room for all, it reads totals only.
func (b NamespaceBudget) Shortage(v *store.View, key string) Shortage {
	one := b.weighs(limits.NameRoutes, key)
	rules, bytes := b.weighs(limits.NameRules, key), b.weighs(limits.NameNamespaceBytes, key)
	gateway := gatewayOf(key)
	closed := func(r Resolved) int { return r.errors(b.Limits, gateway).bytesOn(gateway) }
	var all Shortage
	for _, m := range []measure{
		{limits.NameRoutes, "routes", b.ByNamespace.Len(v, key), b.Limits.Routes, one, one},
		{limits.NameRules, "rules", b.Rules.Get(v, key), b.Limits.Rules, rules, rules},
		{limits.NameNamespaceBytes, "bytes", b.Bytes.Get(v, key), b.Limits.NamespaceBytes, bytes, closed},
		{
			limits.NameNamespaceExpressions, "instructions of regular expressions", b.Expressions.Get(v, key), b.Limits.NamespaceExpressions,
			b.weighs(limits.NameNamespaceExpressions, key), nil,
		},
		{limits.NameBackends, "backends", b.Backends.Len(v, key), b.Limits.Backends, newBackends(key), nil},
	} {
		if m.total <= m.limit {
			continue
		}
		routes := b.byAge(v, key)
		e := Exceeded{Tiers: m.tiers(routes), Name: m.name, What: m.what}
		if m.name == limits.NameBackends {
			e.Taken = takenBackends(e.Closed, routes, key)
		}
		all = append(all, e)
	}
	shared, _ := b.Gateways.Get(v, gateway)
	if own := shared.Only(namespaceOf(key)); own.Limit() > 0 {
		all = append(all, Exceeded{Tiers: own, Name: limits.NameGatewayBytes, What: "bytes"})
	}
	return all
}

// tiers divides the limit among the owners of routes, which are in order of their age.
func (m measure) tiers(routes []Resolved) limits.Tiers {
	items, byKey := make([]limits.Item, 0, len(routes)), make(map[string]Resolved, len(routes))
	for _, r := range routes {
		item := r.item(m.weigh(r))
		items, byKey[item.Key] = append(items, item), r
	}
	if m.closed == nil {
		return limits.Tiers{Closed: limits.Share(items, m.limit)}
	}
	return limits.TierBy(items, m.limit, func(i limits.Item) int { return m.closed(byKey[i.Key]) })
}

// GatewayBudget is what the routes of all namespaces may take of one Gateway together.
type GatewayBudget struct {
	Routes *store.Table[Resolved]
	// ByGateway has the routes by [Resolved.Gateways], and Bytes is the sum of [Resolved.ChargedBytes].
	ByGateway *store.Index[Resolved]
	Bytes     *store.Sums[Resolved]
	Limits    *limits.Limits
}

// Tiers divides the bytes of a Gateway among the namespaces with routes there. As long as there is room for all, it reads the total only.
func (b GatewayBudget) Tiers(v *store.View, gateway string) limits.Tiers {
	if b.Bytes.Get(v, gateway) <= b.Limits.GatewayBytes {
		return limits.Tiers{}
	}
	var routes []Resolved
	for _, name := range b.ByGateway.Keys(v, gateway) {
		r, _ := b.Routes.Get(v, name)
		routes = append(routes, r)
	}
	return measure{
		limit:  b.Limits.GatewayBytes,
		weigh:  func(r Resolved) int { return r.chargedOn(b.Limits, gateway) },
		closed: func(r Resolved) int { return r.errors(b.Limits, gateway).bytesOn(gateway) },
	}.tiers(routes)
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

// weigh is 0 for a route that takes nothing of what is limited beside those within the limit.
func (e Exceeded) weigh(r Resolved, key string) int {
	switch e.Name {
	case limits.NameRules, limits.NameNamespaceBytes, limits.NameGatewayBytes:
		return len(r.Rules)
	case limits.NameNamespaceExpressions:
		return r.Expressions
	case limits.NameBackends:
		return e.newBackends(r, key)
	default:
		return 1
	}
}

// newBackends counts the backends of a route that those within the limit do not have.
func (e Exceeded) newBackends(r Resolved, key string) int {
	count := 0
	for _, name := range r.BackendsByNamespace()[key] {
		if _, taken := slices.BinarySearch(e.Taken, name); !taken {
			count++
		}
	}
	return count
}

// weighs is how much of a limit a route takes.
func (b NamespaceBudget) weighs(name, key string) func(Resolved) int {
	return func(r Resolved) int {
		switch name {
		case limits.NameRules:
			return r.RulesByNamespace()[key]
		case limits.NameNamespaceBytes:
			return r.chargedOn(b.Limits, gatewayOf(key))
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
// from the Gateway, where all routes of its namespace answer errors then. It is [Resolved.large] at some Gateways.
func (r Resolved) within(l *limits.Limits, large map[string]int, shortages func(key string) Shortage) Resolved {
	beyond, leftOut := map[string]Exceeded{}, map[string]bool{}
	for _, a := range r.Attachments {
		key := r.namespaceKey(a)
		e, place := shortages(key).of(r, key)
		if large[a.Gateway] > 0 && place != limits.LeftOut {
			e, place = Exceeded{Name: limits.NameRouteBytes}, limits.Closed
		}
		if place != limits.Served {
			beyond[a.Gateway], leftOut[a.Gateway] = e, place == limits.LeftOut
		}
	}
	if len(beyond) == 0 {
		return r
	}
	bytes := map[string]int{}
	for gateway := range beyond {
		bytes[gateway] = max(large[gateway], r.bytesOn(gateway))
	}
	r.Attachments = slices.DeleteFunc(slices.Clone(r.Attachments), func(a Attachment) bool { return leftOut[a.Gateway] })
	for gateway := range beyond {
		if !leftOut[gateway] {
			closed := r.errors(l, gateway).On(r, gateway)
			closed.BeyondLimit = true
			r = r.With(gateway, closed)
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
		parent.Conditions[0] = outcome.Condition{
			Type: string(gwv1.RouteConditionAccepted), State: outcome.False, Reason: string(gwv1.RouteReasonNotAllowedByListeners),
			Message: r.exceeds(e, parent.Gateway, bytes[parent.Gateway], l.RouteBytes, leftOut[parent.Gateway]),
		}
		parent.Gateway = ""
	}
	return r
}

// exceeds says which limit of a Gateway a route is beyond, what it takes itself, and what to do. There is no count of what all take
// together: it would change all messages with each route.
func (r Resolved) exceeds(e Exceeded, gateway string, bytes, routeBytes int, leftOut bool) string {
	switch e.Name {
	case limits.NameRouteBytes:
		return fmt.Sprintf("%s %s takes %d bytes of the configuration of Gateway %s, and a route may take %d; its requests are answered %d; "+
			"what its filters and policies have is repeated for each match of each hostname, so use shorter values, or fewer matches or "+
			"hostnames, or ask the operator for more (limit %s)",
			r.Kind, r.Name, bytes, gateway, routeBytes, failure(r.Kind).StatusCode, e.Name)
	case limits.NameGatewayBytes:
		return fmt.Sprintf("Gateway %s takes %d bytes of the routes of all namespaces, and namespace %s has more than its share%s; this one "+
			"takes %d bytes; delete some, or ask the operator for more (limit %s)",
			gateway, e.Limit(), r.Name.Namespace, r.consequence(e, leftOut), bytes, e.Name)
	case limits.NameNamespaceBytes:
		return fmt.Sprintf("Gateway %s takes %d bytes of the routes of namespace %s, and there are more%s; this one takes %d bytes; "+
			"delete some, or ask the operator for more (limit %s)",
			gateway, e.Limit(), r.Name.Namespace, r.consequence(e, leftOut), bytes, e.Name)
	default:
		return fmt.Sprintf("Gateway %s takes %d %s of namespace %s, and there are more%s; delete some, or ask the operator for more (limit %s)",
			gateway, e.Limit(), e.What, r.Name.Namespace, r.consequence(e, leftOut), e.Name)
	}
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
