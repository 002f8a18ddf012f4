package route

import (
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

// Shortage are the limits of the proxies of a Gateway that routes exceed.
type Shortage []Exceeded

// Exceeded is a limit, and which routes are beyond it.
type Exceeded struct {
	limits.Tiers
	// Name is the limit, and What it limits.
	Name, What string
	// Taken are the names that routes within the limit have, and Kept those that others keep while they answer errors, sorted: a route
	// that has only these takes nothing more.
	Taken, Kept []string
}

// measure is something of which there is a limit.
type measure struct {
	name, what   string
	total, limit int
	// weigh is how much of it a route takes, and closed how much while it answers errors, nil for nothing.
	weigh  func(Resolved) int
	closed func(Resolved) int
	// names, instead of these, is what a route has of it, where what several routes of a namespace have counts once. A route that answers
	// errors has it too if kept is set.
	names func(Resolved) []string
	kept  bool
}

// shortage finds the routes beyond limits. They are in order of their age, and read only if there is not room for all.
func shortage(routes func() []Resolved, measures []measure) Shortage {
	var all Shortage
	var list []Resolved
	for _, m := range measures {
		if m.total <= m.limit {
			continue
		}
		if list == nil {
			list = routes()
		}
		e := m.divide(list)
		e.Name, e.What = m.name, m.what
		all = append(all, e)
	}
	return all
}

// divide divides the limit among the owners of routes.
func (m measure) divide(routes []Resolved) Exceeded {
	if m.names != nil {
		return m.divideNames(routes)
	}
	items, byKey := make([]limits.Item, 0, len(routes)), make(map[string]Resolved, len(routes))
	for _, r := range routes {
		item := r.item(m.weigh(r))
		items, byKey[item.Key] = append(items, item), r
	}
	if m.closed == nil {
		return Exceeded{Tiers: limits.Tiers{Closed: limits.Share(items, m.limit)}}
	}
	return Exceeded{Tiers: limits.TierBy(items, m.limit, func(i limits.Item) int { return m.closed(byKey[i.Key]) })}
}

// divideNames is the same where a route takes the names that no older one of its namespace has.
func (m measure) divideNames(routes []Resolved) Exceeded {
	all := make([]claim, 0, len(routes))
	for _, r := range routes {
		all = append(all, claim{r.item(1), m.names(r)})
	}
	var e Exceeded
	e.Closed = limits.Share(weighNew(all, nil), m.limit)
	e.Taken = within(all, e.Closed)
	if !m.kept {
		return e
	}
	closed := slices.DeleteFunc(all, func(n claim) bool { return !e.Closed.Excludes(n.with(missing(n.names, e.Taken))) })
	e.LeftOut = limits.Share(weighNew(closed, e.Taken), m.limit)
	e.Kept = within(closed, e.LeftOut)
	return e
}

// claim is a route in the queue for a budget of names.
type claim struct {
	limits.Item
	names []string
}

func (n claim) with(weight int) limits.Item {
	n.Weight = weight
	return n.Item
}

// weighNew counts for each route the names that none before has, and that are not taken.
func weighNew(list []claim, taken []string) []limits.Item {
	seen, items := map[string]struct{}{}, make([]limits.Item, 0, len(list))
	for _, name := range taken {
		seen[name] = struct{}{}
	}
	for _, n := range list {
		before := len(seen)
		for _, name := range n.names {
			seen[name] = struct{}{}
		}
		items = append(items, n.with(len(seen)-before))
	}
	return items
}

// within are the names of the routes before the first of their owner that there is no room for.
func within(list []claim, shares limits.Shares) []string {
	var names []string
	for _, n := range list {
		if !shares.Excludes(n.Item) {
			names = append(names, n.names...)
		}
	}
	return unique(names)
}

// missing counts the names that none of the sorted lists has.
func missing(names []string, lists ...[]string) int {
	count := 0
	for _, name := range names {
		if !slices.ContainsFunc(lists, func(list []string) bool { _, found := slices.BinarySearch(list, name); return found }) {
			count++
		}
	}
	return count
}

// only is what the routes of one namespace exceed.
func (s Shortage) only(namespace string) Shortage {
	var own Shortage
	for _, e := range s {
		if e.Tiers = e.Only(namespace); e.Limit() > 0 {
			e.Taken, e.Kept = countedOf(e.Taken, namespace), countedOf(e.Kept, namespace)
			own = append(own, e)
		}
	}
	return own
}

// of is the first limit that a route is beyond, and what becomes of it.
func (s Shortage) of(r Resolved, key string) (Exceeded, limits.Place) {
	var first Exceeded
	worst := limits.Served
	for _, e := range s {
		if place := e.place(r, key); place > worst {
			first, worst = e, place
		}
	}
	return first, worst
}

// place is that of a route. One that takes nothing of what is limited, beside those within the limit, is never beyond it.
func (e Exceeded) place(r Resolved, key string) limits.Place {
	switch e.Name {
	case limits.NameRules, limits.NameNamespaceBytes, limits.NameGatewayBytes:
		return e.Of(r.item(len(r.Rules)))
	case limits.NameNamespaceExpressions:
		return e.Of(r.item(r.Expressions))
	case limits.NameBackends:
		return e.placeOf(r, r.BackendsByNamespace()[key])
	case limits.NameGatewayBackends:
		return e.placeOf(r, r.CountedBackends()[fleetOf(key)])
	case limits.NameGatewayHostnames:
		return e.placeOf(r, r.CountedHostnames()[fleetOf(key)])
	default:
		return e.Of(r.item(1))
	}
}

func (e Exceeded) placeOf(r Resolved, names []string) limits.Place {
	return e.OfBoth(r.item(missing(names, e.Taken)), missing(names, e.Taken, e.Kept))
}

// byAge are the routes with these keys, the oldest first.
func byAge(v *store.View, routes *store.Table[Resolved], keys []string) []Resolved {
	list := make([]Resolved, 0, len(keys))
	for _, key := range keys {
		r, _ := routes.Get(v, key)
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y Resolved) int { return x.item(0).Compare(y.item(0)) })
	return list
}

// countedOf are the names of a namespace among sorted ones of [counted].
func countedOf(names []string, namespace string) []string {
	from, _ := slices.BinarySearch(names, namespace+countedEnd)
	to := from
	for to < len(names) && strings.HasPrefix(names[to], namespace+countedEnd) {
		to++
	}
	return names[from:to:to]
}
