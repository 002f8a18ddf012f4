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
	return limits.Item{Created: r.Created, Key: r.Name.String() + "/" + r.Kind, Weight: weight}
}

// Excluded says whether a route is beyond a budget.
func (r Resolved) Excluded(c limits.Cutoff) bool {
	i := r.item(0)
	return c.Excludes(i.Created, i.Key)
}

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

// RepeatBudget finds the routes with wide hostnames whose rules are not repeated for narrower ones of a listener, because they would be too
// many. Where hosts are looked up by themselves, rules are repeated only for hostnames with a wildcard.
func RepeatBudget(
	v *store.View, routes *store.Table[Resolved], byWild, byListener *store.IndexOf[ir.ListenerID, Resolved], byHost bool, limit int,
	listener ir.ListenerID,
) limits.Cutoff {
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
		return limits.Cutoff{}
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
	return limits.Find(items, limit)
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

// hostBudget drops the rules of routes that a host has no room for, and names these routes.
func hostBudget(list []candidate, l limits.Limits) (kept []candidate, beyond []string) {
	if len(list) <= l.HostRules && expressionsOf(list) <= l.HostExpressions {
		return list, nil
	}
	rules, expressions := map[string]*limits.Item{}, map[string]*limits.Item{}
	for _, c := range list {
		if rules[c.route] == nil {
			item := limits.Item{Created: c.created, Key: c.route}
			rules[c.route], expressions[c.route] = &item, &limits.Item{Created: c.created, Key: c.route, Weight: c.expressions}
		}
		rules[c.route].Weight++
	}
	cutoffs := []limits.Cutoff{limits.Find(values(rules), l.HostRules), limits.Find(values(expressions), l.HostExpressions)}
	for _, c := range list {
		if slices.ContainsFunc(cutoffs, func(cut limits.Cutoff) bool { return cut.Excludes(c.created, c.route) }) {
			beyond = append(beyond, c.route)
		} else {
			kept = append(kept, c)
		}
	}
	return kept, unique(beyond)
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
	Repeats  *store.TableOf[ir.ListenerID, limits.Cutoff]
	Limits   *limits.Limits
	// Policies has the layers of policies on listeners and what is above them; nil for none.
	Policies *store.TableOf[ir.ListenerID, *inherit.Layer]
}
