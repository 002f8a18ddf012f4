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

// NamespaceKeys are the fleets of the Gateways a route attaches to, as `<fleet>|<namespace>`; see [Attachment.Fleet].
func (r Resolved) NamespaceKeys() []string {
	var keys []string
	for _, a := range r.Attachments {
		keys = append(keys, r.namespaceKey(a))
	}
	return unique(keys)
}

func (r Resolved) namespaceKey(a Attachment) string { return a.Fleet() + "|" + r.Name.Namespace }

// fleetOf and namespaceOf are the parts of one of [Resolved.NamespaceKeys].
func fleetOf(key string) string {
	fleet, _, _ := strings.Cut(key, "|")
	return fleet
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

// RulesByNamespace is how many rules the route has at each fleet, by [Resolved.NamespaceKeys].
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

// BackendsByNamespace are the backends that the route needs at each fleet, by [Resolved.NamespaceKeys].
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

// NamespaceBudget is what the routes of one namespace may take of the proxies of one Gateway. Everything is by [Resolved.NamespaceKeys].
type NamespaceBudget struct {
	Routes             *store.Table[Resolved]
	ByNamespace        *store.Index[Resolved]
	Rules, Expressions *store.Sums[Resolved]
	Backends           *store.Distinct[Resolved]
	// Fleets has the [FleetBudget.Shortage] of each fleet, and Owners the [OwnerBudget.Shortage] of each namespace.
	Fleets, Owners *store.Table[Shortage]
	Limits         *limits.Limits
}

// Shortage finds the routes that the proxies of a Gateway have no room for. As long as there is room for all, it reads totals only.
func (b NamespaceBudget) Shortage(v *store.View, key string) Shortage {
	one := func(Resolved) int { return 1 }
	rules := func(r Resolved) int { return r.RulesByNamespace()[key] }
	all := shortage(func() []Resolved { return byAge(v, b.Routes, b.ByNamespace.Keys(v, key)) }, []measure{
		{name: limits.NameRoutes, what: "routes", total: b.ByNamespace.Len(v, key), limit: b.Limits.Routes, weigh: one, closed: one},
		{name: limits.NameRules, what: "rules", total: b.Rules.Get(v, key), limit: b.Limits.Rules, weigh: rules, closed: rules},
		{
			name: limits.NameNamespaceExpressions, what: "instructions of regular expressions", total: b.Expressions.Get(v, key),
			limit: b.Limits.NamespaceExpressions, weigh: func(r Resolved) int { return r.ExpressionsByNamespace()[key] },
		},
		{
			name: limits.NameBackends, what: "backends", total: b.Backends.Len(v, key), limit: b.Limits.Backends,
			names: func(r Resolved) []string { return r.BackendsByNamespace()[key] },
		},
	})
	own, _ := b.Owners.Get(v, namespaceOf(key))
	shared, _ := b.Fleets.Get(v, fleetOf(key))
	return append(append(all, own...), shared.only(namespaceOf(key))...)
}

// OwnerBudget is what the routes of one namespace may take of the proxies of all Gateways: the control plane keeps all of it in memory.
type OwnerBudget struct {
	Routes *store.Table[Resolved]
	// ByNamespace has the routes by their namespaces, and Bytes is the sum of [Resolved.ChargedBytes].
	ByNamespace *store.Index[Resolved]
	Bytes       *store.Sums[Resolved]
	Limits      *limits.Limits
}

// Shortage finds the routes beyond the limit. As long as there is room for all, it reads the total only.
func (b OwnerBudget) Shortage(v *store.View, namespace string) Shortage {
	return shortage(func() []Resolved { return byAge(v, b.Routes, b.ByNamespace.Keys(v, namespace)) }, []measure{{
		name: limits.NameNamespaceBytes, what: "bytes", total: b.Bytes.Get(v, namespace), limit: b.Limits.NamespaceBytes,
		weigh:  func(r Resolved) int { return r.chargedTo(b.Limits, "") },
		closed: func(r Resolved) int { return r.errorBytes(b.Limits, "") },
	}})
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
		return fmt.Sprintf("the proxies of Gateway %s take %d bytes of the routes of all namespaces, and namespace %s has more than its "+
			"share%s; this one takes %d bytes; delete some, or ask the operator for more (limit %s)",
			gateway, e.Limit(), r.Name.Namespace, r.consequence(e, leftOut), bytes, e.Name)
	case limits.NameGatewayHostnames, limits.NameGatewayBackends:
		return fmt.Sprintf("the proxies of Gateway %s take %d %s of the routes of all namespaces, and namespace %s has more than its share%s; "+
			"delete some, or ask the operator for more (limit %s)",
			gateway, e.Limit(), e.What, r.Name.Namespace, r.consequence(e, leftOut), e.Name)
	case limits.NameNamespaceBytes:
		return fmt.Sprintf("the proxies of all Gateways take %d bytes of the routes of namespace %s, and there are more%s; this one takes %d "+
			"bytes of Gateway %s; delete some, or ask the operator for more (limit %s)",
			e.Limit(), r.Name.Namespace, r.consequence(e, leftOut), bytes, gateway, e.Name)
	default:
		return fmt.Sprintf("the proxies of Gateway %s take %d %s of namespace %s, and there are more%s; delete some, or ask the operator for "+
			"more (limit %s)", gateway, e.Limit(), e.What, r.Name.Namespace, r.consequence(e, leftOut), e.Name)
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
