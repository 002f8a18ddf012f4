package quarantine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
)

// Notice is what an object reports: proxies of a Gateway reject a part of it.
type Notice struct {
	Kind    store.Kind
	Key     string
	Gateway string
	// Listeners are the names of those that the notice is about, empty for the whole object.
	Listeners []string
	Message   string
}

// Notices calls add for the routes and listener filters in quarantine, and the objects that they have settings from.
func (q *Quarantine) Notices(add func(Notice)) {
	for p, entry := range q.routes {
		if current, _ := q.tables.Routes.Get(nil, p.route); !entry.apart && entry.applies(current.Instead[p.gateway].BeyondLimit) {
			q.noticeRoute(add, p, entry, "")
		}
	}
	q.noticeHosts(add)
	q.noticeApart(add)
	for id, entry := range q.filters {
		message := fmt.Sprintf(
			"a proxy of Gateway %s rejected (NACK) the filters of the listener: %s; requests are answered 500 until they change",
			id.Gateway, entry.reason)
		resolved, _ := q.tables.Gateways.Get(nil, id.Gateway)
		for owner, listeners := range resolved.Owners(func(l gateway.Listener) bool { return l.ID == id.Listener }) {
			add(Notice{Kind: owner.Kind, Key: owner.Key, Gateway: id.Gateway, Listeners: listeners, Message: message})
		}
	}
}

// Resources returns the clusters, listeners, secrets and route tables that proxies reject.
func (q *Quarantine) Resources() map[NACK]Report { return maps.Clone(q.resources) }

// noticeRoute reports a route in quarantine. If the route has not changed since it was good, the cause is one of the objects that it has
// settings from: these report it instead. Where names the proxies if others serve the route.
func (q *Quarantine) noticeRoute(add func(Notice), p place, entry *routeEntry, where string) {
	kind, key := store.SplitKindKey(p.route)
	current, _ := q.tables.Routes.Get(nil, p.route)
	generation, present := current.Outcome.Generation, entry.level()
	if entry.apart {
		present = entry.levelAt(p.gateway, current)
	}
	origins := q.origins(p, entry)
	elsewhere := present == lastGood && entry.good.Outcome.Generation == generation && len(origins) > 0
	instead := "its requests are answered 500 until the route changes"
	switch {
	case elsewhere:
		instead = "what was served before still is, until it changes"
	case present == lastGood:
		instead = fmt.Sprintf("generation %d is served instead, until the route changes", entry.good.Outcome.Generation)
	case present == widened:
		instead = "its requests, and all that begin alike, are answered 500 until the route changes"
	case present == closedHostnames:
		instead = "all requests for its hostnames that no route of another namespace takes are answered 500 until the route changes"
	}
	if where != "" {
		instead += " " + where
	}
	if !elsewhere {
		add(Notice{Kind: kind, Key: key, Gateway: p.gateway, Message: fmt.Sprintf(
			"a proxy of Gateway %s rejected (NACK) generation %d: %s; %s", p.gateway, generation, entry.reason, instead)})
	}
	if present == lastGood && !elsewhere {
		return
	}
	for _, origin := range origins {
		add(Notice{Kind: store.Kind(origin.Kind), Key: origin.Name.String(), Gateway: p.gateway, Message: fmt.Sprintf(
			"a proxy of Gateway %s rejected (NACK) what %s %s has from it: %s; %s", p.gateway, kind, key, entry.reason, instead)})
	}
}

// origins returns the objects that rejected rules of a route have settings from, sorted.
func (q *Quarantine) origins(p place, entry *routeEntry) []ir.ObjectRef {
	current, _ := q.tables.Routes.Get(nil, p.route)
	origins := entry.rejected.Origins(entry.rules)
	for _, id := range current.Listeners() {
		if id.Gateway == p.gateway {
			origins = append(origins, q.tables.PolicyOrigins(id)...)
		}
	}
	slices.SortFunc(origins, ir.ObjectRef.Compare)
	return slices.Compact(origins)
}

// Size is how much a Quarantine holds.
type Size struct {
	// Routes are in quarantine, Hosts closed, Reported were live by their status alone, Waiting wait for an offer or have waited. Groups
	// have hosts that not all their proxies have acknowledged.
	Routes, Hosts, Reported, Waiting, Groups int
}

// Size returns how much is in quarantine.
func (q *Quarantine) Size() Size {
	return Size{
		Routes: len(q.routes), Hosts: len(q.hosts), Reported: len(q.reported), Waiting: len(q.waitUntil), Groups: len(q.introduced),
	}
}

// RejectedDigest returns the digest under which replicas exchange the version of a route that the proxies of a Gateway reject, empty if
// they reject none.
func (q *Quarantine) RejectedDigest(route, gateway string) string {
	entry := q.routes[place{route, gateway}]
	if entry == nil {
		return ""
	}
	return digestOf(entry.rejected.Rules)
}
