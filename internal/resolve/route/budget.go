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

// repeatUnit is how many bytes of a rule count as one rule where rules are repeated.
const repeatUnit = 4 << 10

// repeats is how much the rules count where they are repeated: each once, and a large one more often.
func (r Resolved) repeats() int {
	sum := 0
	for i := range r.Rules {
		sum += 1 + r.Rules[i].size()/repeatUnit
	}
	return sum
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
		items = append(items, r.item(r.At(listener.Gateway).repeats()*times))
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

// Hosts are what virtual hosts are made of.
type Hosts struct {
	Tables *store.TableOf[ir.TableID, []gateway.ParentListener]
	Routes *store.Table[Resolved]
	// ByDomain has the routes by [Resolved.Domains], and Repeats is the [RepeatBudget] of each listener.
	ByDomain *store.IndexOf[ir.DomainID, Resolved]
	Repeats  *store.TableOf[ir.ListenerID, limits.Tiers]
	// Wildcards is the [WildcardBudget] of each table.
	Wildcards *store.TableOf[ir.TableID, limits.Tiers]
	Limits    *limits.Limits
	// Policies has the layers of policies on listeners and what is above them; nil for none.
	Policies *store.TableOf[ir.ListenerID, *inherit.Layer]
	// Instead has what is served of routes, if not what they are; nil for nothing.
	Instead map[string]Resolved
}
