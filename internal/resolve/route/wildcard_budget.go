package route

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

// WildcardTables are the tables in which a route has a hostname with a wildcard. Proxies get all these hostnames of a table as one
// resource.
func (r Resolved) WildcardTables() []ir.TableID {
	var list []ir.TableID
	for _, a := range r.Attachments {
		if !a.Table.IsZero() && slices.ContainsFunc(a.Hosts, func(h Host) bool { return !exact(h.Domain) }) {
			list = append(list, a.Table)
		}
	}
	return distinct(list)
}

// WildcardPlace is what becomes of the rules of a route in the hostnames with a wildcard of a table, by its [WildcardBudget].
func (r Resolved) WildcardPlace(t limits.Tiers) limits.Place { return t.Of(r.item(len(r.Rules))) }

// WildcardBudget divides the bytes that the hostnames with a wildcard of a table may take among the namespaces with routes there. The rules
// of a route count for each of its hostnames, and for each narrower one in which they are repeated.
func WildcardBudget(
	v *store.View, routes *store.Table[Resolved], byWildTable *store.IndexOf[ir.TableID, Resolved], limit int, table ir.TableID,
) limits.Tiers {
	var list []Resolved
	for _, name := range byWildTable.Keys(v, table) {
		r, _ := routes.Get(v, name)
		list = append(list, r)
	}
	narrower := narrowerWildcards(list, table)
	items, byKey, total := make([]limits.Item, 0, len(list)), make(map[string]Resolved, len(list)), 0
	for _, r := range list {
		item := r.item(r.At(table.Gateway).WildcardBytes(table, narrower))
		items, byKey[item.Key], total = append(items, item), r, total+item.Weight
	}
	if total <= limit {
		return limits.Tiers{}
	}
	return limits.TierBy(items, limit, func(i limits.Item) int { return byKey[i.Key].cheaply().WildcardBytes(table, narrower) })
}

// Narrower counts, for each hostname with a wildcard, those that it covers.
type Narrower map[ir.DomainID]int

func narrowerWildcards(list []Resolved, table ir.TableID) Narrower {
	narrower, seen := Narrower{}, map[ir.DomainID]bool{}
	for _, r := range list {
		for _, a := range r.Attachments {
			for _, h := range a.Hosts {
				if id := a.ID().Domain(h.Domain); a.Table == table && !exact(h.Domain) && !seen[id] {
					seen[id] = true
					for _, wide := range wider(h.Domain)[1:] {
						narrower[a.ID().Domain(wide)]++
					}
				}
			}
		}
	}
	return narrower
}

// WildcardBytes is how many bytes the rules take of the hostnames with a wildcard of a table.
func (r Resolved) WildcardBytes(table ir.TableID, narrower Narrower) int {
	rules, sum := r.Bytes(), 0
	for i := range r.Rules {
		rules += r.Rules[i].treeSize()
	}
	for i := range r.Attachments {
		a := &r.Attachments[i]
		for _, h := range a.Hosts {
			if a.Table == table && !exact(h.Domain) {
				sum += (1 + narrower[a.ID().Domain(h.Domain)]) * r.bytesAt(a, h.Domain, rules)
			}
		}
	}
	return sum
}
