package pipeline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// maxRefusals bounds what is remembered of refusals between two steps, and of offers. A proxy that is not heard refuses again.
	maxRefusals = 1024
	// maxQuarantined bounds what a Gateway has in quarantine at one time. What is beyond it stays as it is: proxies go on with what they
	// have.
	maxQuarantined = 256
	// maxReason is how much of a proxy's words is repeated.
	maxReason = 1024
)

// refusal is what a proxy refuses.
type refusal struct {
	group string
	typ   xds.Type
	name  string
	// The rest is for a virtual host: its table and version, and the names of its routes, one on each line.
	table, version, routes string
	filters, together      bool
}

// Refused takes in what a proxy of a Gateway refuses. It never blocks.
func (p *Pipeline) Refused(proxy xds.Identity, r xds.Refusal) {
	reason := strings.ToValidUTF8(r.Reason[:min(len(r.Reason), maxReason)], "")
	switch r.Type {
	case xds.VirtualHost:
		p.config.inbox.refuse(refusal{
			group: proxy.Gateway, typ: r.Type, name: r.Name, table: r.Table, version: r.Version, routes: strings.Join(r.Routes, "\n"),
			filters: r.Filters, together: r.Together,
		}, reason)
	case xds.Cluster, xds.Listener, xds.Secret:
		p.config.inbox.refuse(refusal{group: proxy.Gateway, typ: r.Type, name: r.Name}, reason)
	default:
		// Endpoints belong to no object of the Gateway API, and of a whole table nothing was found to be the cause. The server has logged
		// it.
	}
}

// place is a route at one Gateway.
type place struct{ route, gateway string }

// level is what is served instead of a refused version.
type level uint8

const (
	// lastGood is the last version that all ready proxies had acknowledged.
	lastGood level = iota
	// closed answers 500, so that no wider route takes the requests.
	closed
	// leftOut is for a route whose matches are what is refused.
	leftOut
)

// quarantined is a route at a Gateway whose proxies refuse its present version.
type quarantined struct {
	refused route.Resolved
	// good is nil where no good version is known.
	good *route.Resolved
	// goodRefused and closedRefused are the levels that are known to be refused too. A replica that knew no good version has tried none.
	goodRefused, closedRefused bool
	// served is the level that proxies were sent last, and shown says that other replicas know it as it is.
	served level
	shown  bool
	rules  []string
	reason string
}

// level is what is served.
func (q *quarantined) level() level {
	switch {
	case q.good != nil && !q.goodRefused:
		return lastGood
	case !q.closedRefused:
		return closed
	default:
		return leftOut
	}
}

// refuseLevel notes that what is served is refused too.
func (q *quarantined) refuseLevel() {
	switch q.level() {
	case lastGood:
		q.goodRefused = true
	case closed:
		q.closedRefused = true
	case leftOut:
	}
}

func (q *quarantined) instead() route.Resolved {
	switch q.level() {
	case lastGood:
		return *q.good
	case closed:
		return q.refused.Closed()
	default:
		return route.Resolved{}
	}
}

// quarantinedFilters are the filters of a listener that proxies refuse.
type quarantinedFilters struct {
	refused, instead []ir.ExternalAuth
	// good says that instead is from before, and closed that what was from before is refused too.
	good, closed bool
	reason       string
}

// substitutes are what is served instead of a route, by Gateway. They hold as long as the route has the rules that were refused.
type substitutes map[string]*quarantined

// apply has them served.
func (s substitutes) apply(r route.Resolved) route.Resolved {
	for gateway, q := range s {
		if r.SameRules(q.refused) && slices.Contains(r.Gateways(), gateway) {
			r = r.With(gateway, q.instead().On(r, gateway))
		}
	}
	return r
}

// quarantine has the last known good of what proxies refuse served in its place: for routes and filters of listeners at the Gateway whose
// proxies refuse them, by way of two tables that stages read. Clusters, listeners and secrets the xDS server itself replaces by the last
// good ones. It sees to it that the objects at fault report it.
type quarantine struct {
	graph *graph
	to    Outputs
	// good is the last version of a route that was live, while a newer one is not proved, and goodFilters the same for listeners, by
	// `<gateway>|<listener>`.
	good        map[place]route.Resolved
	goodFilters map[string][]ir.ExternalAuth
	routes      map[place]*quarantined
	filters     map[string]*quarantinedFilters
	// resources are refused clusters, listeners and secrets, with the reason.
	resources map[refusal]string
	// offers are what other replicas serve instead of a route.
	offers map[string]offer
	// later are refusals that wait for an offer, and patience is until when each route waits. It stays there while there is the route,
	// which waits once: from then on this replica has seen for itself what was good.
	later    map[refusal]string
	patience map[place]time.Time
	// reported is the generation of a route that its status called live when this replica saw it, and does not any more.
	reported map[place]int64
	// failures are told in the same way, and so are backends that are short of endpoints.
	failures *failures
	short    *shortEndpoints
	// told is what was last said.
	told notices
	// again has another step done.
	again func()
	// panicked is told of an object that could not be taken in.
	panicked panicked
}

func newQuarantine(g *graph, to Outputs) *quarantine {
	return &quarantine{
		graph: g, to: to, good: map[place]route.Resolved{}, goodFilters: map[string][]ir.ExternalAuth{}, routes: map[place]*quarantined{},
		filters: map[string]*quarantinedFilters{}, resources: map[refusal]string{}, offers: map[string]offer{}, later: map[refusal]string{}, patience: map[place]time.Time{},
		reported: map[place]int64{},
		failures: newFailures(g), short: &shortEndpoints{}, told: notices{},
	}
}

// apply brings changes and refusals into the tables.
func (q *quarantine) apply(b batch) {
	q.forgetGood()
	for _, c := range b.changes {
		q.noteReported(c, func() { take(q.graph.objects, c, q.panicked) })
	}
	q.graph.takeIdle(b.idling)
	q.graph.takeShort(q.short.get())
	for key, o := range b.offers {
		if q.offers[key] = q.offers[key].with(o); o.refused == "" {
			delete(q.offers, key)
		}
	}
	q.adopt()
	maps.Copy(b.refused, q.later)
	q.later = map[refusal]string{}
	for r, reason := range b.refused {
		if r.typ == xds.VirtualHost {
			q.refuseHost(r, reason)
		} else {
			q.resources[r] = reason
		}
	}
}

// refuseHost takes in that a virtual host is refused, unless it is another one by now.
func (q *quarantine) refuseHost(r refusal, reason string) {
	current, _ := q.graph.virtualHosts.Get(nil, route.VirtualHostKey(r.table, r.name))
	if version(current.resource) != r.version {
		return
	}
	gateway := route.GatewayOf(r.table)
	switch {
	case q.full(gateway):
		// Proxies of that Gateway go on with what they have.
	case r.filters:
		q.refuseFilters(r, reason)
	case r.together && q.flatten(route.VirtualHostKey(r.table, r.name)):
		// Another form of the same rules may do.
	default:
		byRoute := map[string][]string{}
		for name := range strings.SplitSeq(r.routes, "\n") {
			if kind, key, ok := routeOf(name); ok {
				byRoute[string(kind)+"/"+key] = append(byRoute[string(kind)+"/"+key], name)
			}
		}
		for key := range byRoute {
			if q.awaitOffer(place{key, gateway}) {
				q.later[r] = reason
				return
			}
		}
		for key, rules := range byRoute {
			q.refuseRoute(place{key, gateway}, rules, reason)
		}
	}
}

// full says whether a Gateway has as much in quarantine as it may have.
func (q *quarantine) full(gateway string) bool {
	count := 0
	for p := range q.routes {
		if p.gateway == gateway {
			count++
		}
	}
	return count >= maxQuarantined
}

// flatten has the rules of a host sent as a list, and says whether they were sent as a tree before.
func (q *quarantine) flatten(key string) bool {
	host, _ := q.graph.hosts.Get(nil, key)
	if flat, _ := q.graph.flatHosts.Get(nil, key); flat || !routetranslate.HasTree(host) {
		return false
	}
	q.graph.flatHosts.Set(key, true)
	return true
}

// routeOf is the object that a rule comes from; see the Name of an ir.Rule.
func routeOf(rule string) (store.Kind, string, bool) {
	parts := strings.Split(rule, "/")
	if len(parts) < 3 {
		return "", "", false
	}
	return store.Kind(parts[0]), store.Key(parts[1], parts[2]), true
}

// refuseRoute puts a route in quarantine at a Gateway. If what is served instead is refused too, the next level is tried.
func (q *quarantine) refuseRoute(p place, rules []string, reason string) {
	current, exists := q.graph.routes.Get(nil, p.route)
	if !exists {
		return
	}
	if known := q.routes[p]; known != nil && current.SameRules(known.refused) {
		if _, served := current.Instead[p.gateway]; served && known.level() == known.served {
			known.refuseLevel()
			q.setRoutes(p.route)
		}
		return
	}
	q.quarantineRoute(p, current, rules, reason)
}

func (q *quarantine) quarantineRoute(p place, current route.Resolved, rules []string, reason string) {
	current.Instead = nil
	entry := &quarantined{refused: current.Part(p.gateway), rules: rules, reason: reason}
	if good, ok := q.good[p]; ok && good.Replaces(entry.refused) {
		entry.good = &good
	}
	q.routes[p] = entry
	if _, waited := q.patience[p]; !waited {
		q.patience[p] = time.Now()
	}
	q.setRoutes(p.route)
}

// setRoutes brings the table that stages read up to date.
func (q *quarantine) setRoutes(key string) {
	all := substitutes{}
	for p, entry := range q.routes {
		if p.route == key {
			entry.shown = false
			copied := *entry
			all[p.gateway] = &copied
		}
	}
	if len(all) == 0 {
		q.graph.quarantinedRoutes.Delete(key)
	} else {
		q.graph.quarantinedRoutes.Set(key, all)
	}
}

// refuseFilters puts the filters of a listener in quarantine. Where no good ones are known, requests are answered 500.
func (q *quarantine) refuseFilters(r refusal, reason string) {
	listeners, _ := q.graph.tableListeners.Get(nil, r.table)
	owner, ok := route.OwnerOf(listeners, r.name)
	if !ok {
		return
	}
	key := route.ListenerKey(route.GatewayOf(r.table), owner.ID)
	wanted, known := q.graph.filtersOf(key), q.filters[key]
	switch {
	case known == nil || !slices.EqualFunc(known.refused, wanted, sameFilter):
		q.quarantineFilters(key, wanted, reason)
	case slices.EqualFunc(known.instead, owner.Filters, sameFilter):
		// What is served instead is refused too.
		known.instead, known.good, known.closed = []ir.ExternalAuth{{}}, false, true
		q.graph.quarantinedFilters.Set(key, *known)
	}
}

func (q *quarantine) quarantineFilters(key string, refused []ir.ExternalAuth, reason string) {
	entry := &quarantinedFilters{refused: refused, instead: []ir.ExternalAuth{{}}, reason: reason}
	if good, known := q.goodFilters[key]; known && replacesFilters(key, good, refused) {
		entry.instead, entry.good = good, true
	}
	q.filters[key] = entry
	q.graph.quarantinedFilters.Set(key, *entry)
}
