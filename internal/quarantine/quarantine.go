package quarantine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// MaxNACKs limits the NACKs between two steps that name the routes at fault. Without these the host is closed.
	MaxNACKs = 1024
	// MaxOffers limits the offers of other replicas. What one server offers is bounded in bytes too.
	MaxOffers = 16384
	// maxQuarantined limits the routes of a Gateway whose last known good version is served. Routes beyond it answer 500.
	maxQuarantined = 256
)

// Quarantine has something else served instead of what proxies reject. Stages read it from [Substitutes]: for routes the last known good
// version, or errors, at the Gateway whose proxies reject them, and errors for filters of listeners. For clusters, listeners and secrets
// the xDS server serves the last good version itself. It reports the objects at fault.
type Quarantine struct {
	tables      Tables
	convergence Convergence
	peers       Peers
	// lastGood is the last live version of a route while a newer one is not acknowledged.
	lastGood map[place]route.Resolved
	// routes are those in quarantine. byRoute has them by route and Gateway, and counts is their number at each Gateway: those that are
	// apart do not take the place of others.
	routes  map[place]*routeEntry
	byRoute map[string]map[string]*routeEntry
	counts  map[quota]int
	filters map[ir.ListenerID]*FilterSubstitute
	// hosts are closed, and unreplaced those that proxies reject and that this step is to replace.
	hosts      map[ir.HostID]*hostEntry
	unreplaced map[ir.HostID]*hostEntry
	// resources are rejected clusters, listeners, secrets and route tables.
	resources map[NACK]Report
	// offers are what other replicas have in quarantine.
	offers map[OfferID]Offer
	// apart are hosts that some proxies reject and others have acknowledged, and introduced when each host got the version it has.
	apart      map[GroupHost]*apartEntry
	introduced map[xds.GroupID][]introduction
	// delayed are NACKs that wait for an offer, and waitUntil is the deadline of each route. It stays while the route exists, so a route
	// waits once: from then on this replica has seen itself which version was good. NACKs that wait for the answers of other proxies have
	// a deadline in answerUntil.
	delayed map[NACK]Report
	// rejecting are the proxies whose NACKs [Quarantine.Take] takes in.
	rejecting   map[versionAt]map[string]struct{}
	waitUntil   map[place]time.Time
	answerUntil map[NACK]time.Time
	// pollAt is when these are looked at next, if that is later than now.
	pollAt time.Time
	// reported is the generation of a route that its status reported as live when this replica saw it, and no longer does.
	reported map[place]int64
	// again requests another step.
	again func()
}

// Convergence tracks what proxies have acknowledged.
type Convergence interface {
	// Live reports whether every ready proxy of a Gateway has acknowledged the last outcome of an object.
	Live(kind store.Kind, key, gateway string) bool
	// Acked counts the ready proxies of a group but these, and those of them that have acknowledged a state, or a later one. An empty state
	// is any.
	Acked(group xds.GroupID, state string, but map[string]struct{}) (acked, ready int)
	// Knows reports whether a proxy of a group is connected to a replica.
	Knows(group xds.GroupID, pod string) bool
}

// New returns an empty Quarantine. The function again requests another step.
func New(tables Tables, convergence Convergence, peers Peers, again func()) *Quarantine {
	return &Quarantine{
		tables: tables, convergence: convergence, peers: peers, again: again,
		lastGood: map[place]route.Resolved{}, routes: map[place]*routeEntry{}, byRoute: map[string]map[string]*routeEntry{},
		counts: map[quota]int{}, filters: map[ir.ListenerID]*FilterSubstitute{}, resources: map[NACK]Report{},
		apart: map[GroupHost]*apartEntry{}, introduced: map[xds.GroupID][]introduction{},
		hosts: map[ir.HostID]*hostEntry{}, unreplaced: map[ir.HostID]*hostEntry{},
		offers: map[OfferID]Offer{}, delayed: map[NACK]Report{}, waitUntil: map[place]time.Time{}, reported: map[place]int64{},
		answerUntil: map[NACK]time.Time{},
	}
}

// Take takes in what came since the last step: offers of other replicas, and NACKs with their reasons.
func (q *Quarantine) Take(offers map[OfferID]Offer, nacks map[NACK]Report) {
	for id, o := range offers {
		if q.offers[id] = q.offers[id].With(o); o.Withdrawn() {
			delete(q.offers, id)
		}
	}
	q.adopt()
	nacks = maps.Clone(nacks)
	waited := q.delayed
	for r, report := range waited {
		nacks[r] = nacks[r].With(report)
	}
	q.delayed, q.rejecting = map[NACK]Report{}, rejecting(nacks)
	// All replicas reach limits in the same order.
	for _, r := range slices.SortedFunc(maps.Keys(nacks), NACK.compare) {
		switch {
		case r.Type == xds.VirtualHost:
			_, again := waited[r]
			q.rejectHost(r, nacks[r], again)
		case r.Type == xds.RouteTable && r.Version != "" && q.tables.HeaderVersion(ir.ParseTableID(r.Name)) != r.Version:
			// It has another version by now.
		default:
			q.resources[r] = q.resources[r].With(nacks[r])
		}
	}
	maps.DeleteFunc(q.answerUntil, func(r NACK, _ time.Time) bool {
		_, waits := q.delayed[r]
		return !waits
	})
	if now := time.Now(); len(q.answerUntil) > 0 && !now.Before(q.pollAt) {
		wait := answerPoll + time.Duration(len(q.answerUntil))*answerCost
		q.pollAt = now.Add(wait)
		time.AfterFunc(wait, q.again)
	}
}

// Update brings the quarantine up to date with the step that made these changes. It is called before [Quarantine.Notices].
func (q *Quarantine) Update(changes []xds.Change) {
	for i := range changes {
		if len(q.resources) > 0 {
			q.forgetResource(&changes[i])
		}
	}
	q.releaseResources()
	retried := q.release()
	q.releaseApart()
	adopted, closed, settled := q.adopt(), q.closeUnreplaced(), q.settleApart()
	if retried || adopted || closed || settled {
		// What the stages read has changed.
		q.again()
	}
}

// forgetResource drops the NACK of a resource that has changed. A route table has changed if one of its hosts has, unless the NACK is about
// what all of them share.
func (q *Quarantine) forgetResource(change *xds.Change) {
	switch change.Type {
	case xds.RouteTable, xds.VirtualHost:
		table := cmp.Or(change.Table, change.Name)
		shared := NACK{Group: change.Group, Type: xds.RouteTable, Name: table, Version: q.tables.HeaderVersion(ir.ParseTableID(table))}
		maps.DeleteFunc(q.resources, func(r NACK, _ Report) bool {
			return r.Type == xds.RouteTable && r.Group == change.Group && r.Name == table && r != shared
		})
	default:
		delete(q.resources, NACK{Group: change.Group, Type: change.Type, Name: change.Name})
	}
}

// releaseResources forgets the NACKs of proxies that are gone, unless others still get another version because of them.
func (q *Quarantine) releaseResources() {
	maps.DeleteFunc(q.resources, func(r NACK, report Report) bool { return !report.FellBack && q.allGone(r.Group, report.Pods) })
}

// allGone forgets the proxies that are gone, and reports whether none is left.
func (q *Quarantine) allGone(group xds.GroupID, pods map[string]struct{}) bool {
	maps.DeleteFunc(pods, func(pod string, _ struct{}) bool { return !q.convergence.Knows(group, pod) })
	return len(pods) == 0
}

// rejectHost takes in a NACK of a virtual host, unless the host has another version by now, or other proxies. A NACK that has waited counts
// for nothing once its proxies are gone. One that has just come may be of a proxy that another replica has not reported yet.
func (q *Quarantine) rejectHost(r NACK, report Report, waited bool) {
	host, gateway := r.host(), ir.ParseTableID(r.Table).Gateway
	if waited && q.allGone(r.Group, report.Pods) || q.rejectInstead(r, report) || q.tables.HostVersion(host) != r.Version ||
		!q.tables.Serves(r.Group, gateway) || q.corrected(gateway, causesOf(r)) || q.keepApart(r, report) {
		return
	}
	switch {
	case r.Filters:
		q.rejectFilters(r, report.Reason)
	case r.Together && q.flatten(host):
		// Proxies may accept the same rules in another form.
	default:
		if !q.full(quota{gateway: gateway}) && q.awaitOffers(r) {
			q.delayed[r] = report
			return
		}
		byRoute := r.byRoute()
		for _, key := range r.routes() {
			q.rejectRoute(place{key, gateway}, byRoute[key], report.Reason, causesOf(r))
		}
	}
	entry := &hostEntry{
		rejected: r.Version, cause: hostCause{reason: report.Reason, policies: r.Filters, routes: r.routes()}, causes: causesOf(r),
	}
	if before := q.unreplaced[host]; before != nil {
		entry.cause, entry.causes = entry.cause.with(before.cause), entry.causes.with(before.causes)
	}
	q.unreplaced[host] = entry
}

// flatten sends the rules of a host as a list. It reports whether they were a tree before.
func (q *Quarantine) flatten(id ir.HostID) bool {
	if !q.hasTree(id) {
		return false
	}
	q.tables.Substitutes.FlatHosts.Set(id, true)
	return true
}

// hasTree reports whether the rules of a host are sent as a tree.
func (q *Quarantine) hasTree(id ir.HostID) bool {
	host, _ := q.tables.Hosts.Get(nil, id)
	flat, _ := q.tables.Substitutes.FlatHosts.Get(nil, id)
	return !flat && routetranslate.HasTree(host)
}

// rejectFilters puts the filters of a listener in quarantine: requests are answered 500. All that a filter says is about how it guards, so
// earlier filters that are others would guard otherwise.
func (q *Quarantine) rejectFilters(r NACK, reason string) {
	table := ir.ParseTableID(r.Table)
	listeners, _ := q.tables.Listeners.Get(nil, table)
	owner, ok := route.OwnerOf(listeners, r.Name)
	if !ok {
		return
	}
	listener := ir.ListenerID{Gateway: table.Gateway, Listener: owner.ID}
	wanted, known := q.tables.filtersOf(listener), q.filters[listener]
	if len(wanted) == 0 || known != nil && known.replaces(wanted) {
		// The cause is a policy above the routes, and the host is closed.
		return
	}
	q.quarantineFilters(listener, wanted, reason, causesOf(r))
}

func (q *Quarantine) quarantineFilters(listener ir.ListenerID, rejected []ir.ListenerFilter, reason string, because causes) {
	entry := &FilterSubstitute{rejected: rejected, reason: reason, causes: because}
	q.filters[listener] = entry
	q.tables.Substitutes.Filters.Set(listener, *entry)
}
