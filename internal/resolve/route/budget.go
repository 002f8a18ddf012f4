package route

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/store"
)

// item is a route in the queue for a budget.
func (r Resolved) item(weight int) limits.Item {
	return limits.Item{Created: r.Created, Key: r.Name.String() + "/" + r.Kind, Owner: r.Name.Namespace, Weight: weight}
}

// Repeated is what becomes of the rules of a route in narrower hostnames of a listener, by its [RepeatBudget].
func (r Resolved) Repeated(t limits.Tiers) limits.Place { return t.Of(r.item(len(r.Rules))) }

// WildcardListeners are the listeners at which a route has a hostname with a wildcard: its rules may have to be repeated for narrower ones.
func (r Resolved) WildcardListeners() []ir.ListenerID {
	var list []ir.ListenerID
	for _, a := range r.Attachments {
		if !a.Table.IsZero() && slices.ContainsFunc(a.Hosts, func(h Host) bool { return !exact(h.Domain) }) {
			list = append(list, a.ID())
		}
	}
	return list
}

// RepeatBudget finds the routes with wide hostnames whose rules answer errors in narrower ones of a listener, because they would be
// repeated too often. Where hosts are looked up by themselves, rules are repeated only for hostnames with a wildcard.
func RepeatBudget(
	v *store.View, routes *store.Table[Resolved], byWild, byListener *store.IndexOf[ir.ListenerID, Resolved], byHost bool, limit int,
	listener ir.ListenerID,
) limits.Tiers {
	among := byListener
	if byHost {
		among = byWild
	}
	// narrower counts, for each domain, those that it covers.
	narrower, seen := map[string]int{}, map[string]bool{}
	for _, name := range among.Keys(v, listener) {
		r, _ := routes.Get(v, name)
		for _, domain := range r.domainsAt(listener) {
			if seen[domain] || byHost && exact(domain) {
				continue
			}
			seen[domain] = true
			for _, wide := range wider(domain)[1:] {
				narrower[wide]++
			}
		}
	}
	if len(narrower) == 0 {
		return limits.Tiers{}
	}
	var items []limits.Item
	for _, name := range byWild.Keys(v, listener) {
		r, _ := routes.Get(v, name)
		times := 0
		for _, domain := range r.domainsAt(listener) {
			times += narrower[domain]
		}
		items = append(items, r.item(len(r.Rules)*times))
	}
	return limits.Tier(items, limit)
}

// domainsAt are the domains that a route has at a listener.
func (r Resolved) domainsAt(listener ir.ListenerID) []string {
	var domains []string
	for _, a := range r.Attachments {
		if a.ID() != listener {
			continue
		}
		for _, h := range a.Hosts {
			domains = append(domains, h.Domain)
		}
	}
	return unique(domains)
}

// hostBudget has the routes that a host has no room for answer errors, and names them. The room is shared by the namespaces that have
// routes there. It has room for as many rules again that answer errors; full says that not even these are all there. Then all routes of the
// namespaces that have too many answer errors.
func hostBudget(list []candidate, l limits.Limits) (kept []candidate, beyond []string, full bool) {
	if len(list) <= l.HostRules && expressionsOf(list) <= l.HostExpressions {
		return list, nil, false
	}
	rules, expressions := map[string]*limits.Item{}, map[string]*limits.Item{}
	for _, c := range list {
		if rules[c.route] == nil {
			item := limits.Item{Created: c.created, Key: c.route, Owner: c.name.Namespace}
			rules[c.route] = &item
			weighed := item
			weighed.Weight = c.expressions
			expressions[c.route] = &weighed
		}
		rules[c.route].Weight++
	}
	byRules, byExpressions := limits.Share(values(rules), l.HostRules), limits.Share(values(expressions), l.HostExpressions)
	closed := func(route string) bool {
		return byRules.Excludes(*rules[route]) || byExpressions.Excludes(*expressions[route])
	}
	leftOut := limits.Share(slices.DeleteFunc(values(rules), func(i limits.Item) bool { return !closed(i.Key) }), l.HostRules)
	for _, c := range list {
		_, all := leftOut[c.name.Namespace]
		if !closed(c.route) && !all {
			kept = append(kept, c)
			continue
		}
		beyond = append(beyond, c.route)
		if !closed(c.route) || !leftOut.Excludes(*rules[c.route]) {
			kept = append(kept, c.closed())
		}
	}
	return kept, unique(beyond), len(leftOut) > 0
}

// closed is the candidate with an error for an answer, in its place.
func (c candidate) closed() candidate {
	c.rule = c.rule.closed()
	return c
}

// unmatched answers what is left for no rule of a host that has no room for all.
func unmatched() ir.Rule {
	return ir.Rule{
		Name: "beyond limits", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}}, Fail: failure(string(store.HTTPRoute)),
	}
}

func expressionsOf(list []candidate) int {
	sum, seen := 0, map[string]bool{}
	for _, c := range list {
		if c.expressions > 0 && !seen[c.route] {
			seen[c.route] = true
			sum += c.expressions
		}
	}
	return sum
}

func values(items map[string]*limits.Item) []limits.Item {
	list := make([]limits.Item, 0, len(items))
	for _, i := range items {
		list = append(list, *i)
	}
	return list
}

// Hosts are what virtual hosts are made of.
type Hosts struct {
	Tables *store.TableOf[ir.TableID, []gateway.ParentListener]
	Routes *store.Table[Resolved]
	// ByDomain has the routes by [Resolved.Domains], and Repeats is the [RepeatBudget] of each listener.
	ByDomain *store.IndexOf[ir.DomainID, Resolved]
	Repeats  *store.TableOf[ir.ListenerID, limits.Tiers]
	Limits   *limits.Limits
	// Policies has the layers of policies on listeners and what is above them; nil for none.
	Policies *store.TableOf[ir.ListenerID, *inherit.Layer]
	// Instead has what is served of routes, if not what they are; nil for nothing.
	Instead map[string]Resolved
}
