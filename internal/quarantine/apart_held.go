package quarantine

import (
	"maps"

	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/xds"
)

// heldRoute is a route of a host that proxies of a group still reject. Its rules may have changed and the host not: it has the same bytes
// if a policy is replaced by one that says the same. Without an entry of the route the host would be closed there, for all its routes.
type heldRoute struct {
	group  xds.GroupID
	pods   map[string]struct{}
	causes causes
}

// held are these routes. They are looked for when the first is asked for.
type held struct {
	*Quarantine
	routes map[place]heldRoute
}

func (q *Quarantine) newHeld() held { return held{Quarantine: q} }

// of returns the host of a route that some proxies reject, and false if none holds it.
func (h *held) of(p place, entry *routeEntry) (heldRoute, bool) {
	if !entry.apart {
		return heldRoute{}, false
	}
	if h.routes == nil {
		h.routes = map[place]heldRoute{}
		for at, host := range h.apart {
			if !h.holds(at, host) {
				continue
			}
			for _, key := range host.routes {
				p := place{key, at.Host.Table.Gateway}
				known, several := h.routes[p]
				because := known.causes.with(host.causes)
				switch {
				case !several || at.Group.String() < known.group.String():
					known = heldRoute{group: at.Group, pods: maps.Clone(host.Pods)}
				case at.Group == known.group:
					maps.Copy(known.pods, host.Pods)
				}
				known.causes = because
				h.routes[p] = known
			}
		}
	}
	found, ok := h.routes[p]
	return found, ok
}

// keep has a route stay in quarantine as it is now.
func (q *Quarantine) keep(p place, entry *routeEntry, current route.Resolved, h heldRoute) {
	q.withdraw(p.offerKey(), digestOf(entry.rejected.Rules))
	current.Instead = nil
	entry.rejected, entry.causes = current.Part(p.gateway), h.causes
	if entry.good != nil && !entry.good.Replaces(entry.rejected) {
		entry.good = nil
	}
	q.setRoutes(p.route)
}
