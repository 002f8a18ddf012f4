package quarantine

import (
	"cmp"
	"fmt"
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
	// MaxNACKs limits the NACKs between two steps that have details. Without them the host is closed.
	MaxNACKs = 1024
	// MaxOffers limits the offers of other replicas. What one server offers is bounded in bytes too.
	MaxOffers = 16384
	// maxQuarantined limits the routes of a Gateway whose last known good version is served. Routes beyond it answer 500.
	maxQuarantined = 256
)

// NACK is a resource that a proxy rejected.
type NACK struct {
	Group xds.GroupID
	Type  xds.Type
	Name  string
	// Version is that of a virtual host, or of what the hosts of a route table share.
	Version string
	// The rest is for a virtual host: its table, and the names of its routes, one on each line. Filters is set if the cause is in what its
	// rules share, Together if each route alone is accepted. Cluster is a rejected cluster that it names, if that is the cause.
	Table, Routes     string
	Filters, Together bool
	Cluster           xds.ClusterVersion
}

func (r NACK) compare(other NACK) int {
	order := cmp.Or(cmp.Compare(r.Table, other.Table), cmp.Compare(r.Name, other.Name), cmp.Compare(r.Version, other.Version),
		cmp.Compare(r.Routes, other.Routes))
	if order != 0 || r == other {
		return order
	}
	return cmp.Compare(fmt.Sprint(r), fmt.Sprint(other))
}

// host returns the virtual host that was rejected.
func (r NACK) host() ir.HostID { return ir.ParseTableID(r.Table).Host(r.Name) }

// place is a route at one Gateway.
type place struct{ route, gateway string }

// level is what proxies serve instead of a rejected version.
type level uint8

const (
	// lastGood is the last version that all ready proxies had acknowledged.
	lastGood level = iota
	// closed answers 500, so that no wider route takes the requests.
	closed
	// widened is for a route whose matches are rejected: what begins alike is answered 500.
	widened
	// closedHostnames answers 500 to all requests for the hostnames of the route.
	closedHostnames
)

// routeEntry is a route at a Gateway whose proxies reject its present version.
type routeEntry struct {
	rejected route.Resolved
	// good is the last good version, nil if none is known.
	good *route.Resolved
	// goodRejected, closedRejected and widenedRejected are set for levels that proxies reject too. A replica without a good version has not
	// tried one.
	goodRejected, closedRejected, widenedRejected bool
	// limited is set for a route beyond the limit of those whose good version is served, and apart for one that only the proxies get which
	// reject it; see apart.go.
	limited, apart bool
	// beyond is set if proxies rejected the errors that a route beyond a limit answers. It is tried as it is when there is room for it.
	beyond bool
	// served is the level that proxies were sent last; offered is set if other replicas know the entry as it is.
	served  level
	offered bool
	causes  causes
	// pods are the proxies of a group that reject a route which is apart, none if only another replica knows them.
	group  xds.GroupID
	pods   map[string]struct{}
	rules  []string
	reason string
}

// applies reports whether the level replaces what is served. A route beyond a limit answers errors already, whatever was good: it is
// replaced only if proxies reject these.
func (q *routeEntry) applies(beyondLimit bool) bool { return !beyondLimit || q.level() >= widened }

// level returns what proxies serve.
func (q *routeEntry) level() level {
	switch {
	case q.good != nil && !q.goodRejected:
		return lastGood
	case !q.closedRejected:
		return closed
	case !q.widenedRejected:
		return widened
	default:
		return closedHostnames
	}
}

// rejectErrors records that proxies reject the errors that a route beyond a limit answers.
func (q *routeEntry) rejectErrors() { q.beyond, q.goodRejected, q.closedRejected = true, true, true }

// rejectLevel records that proxies reject the present level too.
func (q *routeEntry) rejectLevel() {
	switch q.level() {
	case lastGood:
		q.goodRejected = true
	case closed:
		q.closedRejected = true
		// Where matches are paths already, the next level is the same.
		q.widenedRejected = q.rejected.Widened().SameRules(q.rejected.Closed())
	case widened:
		q.widenedRejected = true
	case closedHostnames:
	}
}

func (q *routeEntry) instead() route.Resolved {
	switch q.level() {
	case lastGood:
		return q.good.InsteadOf(q.rejected)
	case closed:
		return q.rejected.Closed()
	case widened:
		return q.rejected.Widened()
	default:
		return q.rejected.ClosedHostnames()
	}
}

// Quarantine serves the last known good version of what proxies reject. Stages read it from [Substitutes], for routes and for filters of
// listeners at the Gateway whose proxies reject them. For clusters, listeners and secrets the xDS server serves the last good version
// itself. It reports the objects at fault.
type Quarantine struct {
	tables      Tables
	convergence Convergence
	peers       Peers
	// lastGood is the last live version of a route while a newer one is not acknowledged, lastGoodFilters the same for listeners.
	lastGood        map[place]route.Resolved
	lastGoodFilters map[ir.ListenerID][]ir.ListenerFilter
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
	delayed     map[NACK]Report
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

// Report is what proxies say about what they reject.
type Report struct {
	Reason string
	// Pods are the proxies.
	Pods map[string]struct{}
	// Origins are the objects that a rejected cluster, listener or secret comes from.
	Origins []ir.ObjectRef
	// FellBack reports that all proxies of a replica get its last good version until it changes.
	FellBack bool
}

// With adds another report of the same NACK.
func (r Report) With(other Report) Report {
	pods := maps.Clone(r.Pods)
	if pods == nil {
		return other
	}
	maps.Copy(pods, other.Pods)
	return Report{Reason: other.Reason, Pods: pods, Origins: other.Origins, FellBack: r.FellBack || other.FellBack}
}

// New returns an empty Quarantine. The function again requests another step.
func New(tables Tables, convergence Convergence, peers Peers, again func()) *Quarantine {
	return &Quarantine{
		tables: tables, convergence: convergence, peers: peers, again: again,
		lastGood: map[place]route.Resolved{}, lastGoodFilters: map[ir.ListenerID][]ir.ListenerFilter{},
		routes: map[place]*routeEntry{}, byRoute: map[string]map[string]*routeEntry{}, counts: map[quota]int{},
		filters: map[ir.ListenerID]*FilterSubstitute{}, resources: map[NACK]Report{},
		apart: map[GroupHost]*apartEntry{}, introduced: map[xds.GroupID][]introduction{},
		hosts: map[ir.HostID]*hostEntry{}, unreplaced: map[ir.HostID]*hostEntry{},
		offers: map[OfferID]Offer{}, delayed: map[NACK]Report{}, waitUntil: map[place]time.Time{}, reported: map[place]int64{},
		answerUntil: map[NACK]time.Time{},
	}
}

// Take takes in what came since the last step: offers of other replicas, and NACKs with their reasons.
func (q *Quarantine) Take(offers map[OfferID]Offer, nacks map[NACK]Report) {
	for id, o := range offers {
		if q.offers[id] = q.offers[id].With(o); o.rejected == "" {
			delete(q.offers, id)
		}
	}
	q.adopt()
	nacks = maps.Clone(nacks)
	for r, report := range q.delayed {
		nacks[r] = nacks[r].With(report)
	}
	q.delayed = map[NACK]Report{}
	// All replicas reach limits in the same order.
	for _, r := range slices.SortedFunc(maps.Keys(nacks), NACK.compare) {
		switch {
		case r.Type == xds.VirtualHost:
			q.rejectHost(r, nacks[r])
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
		q.pollAt = now.Add(answerPoll)
		time.AfterFunc(answerPoll, q.again)
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
	if adopted, closed := q.adopt(), q.closeUnreplaced(); retried || adopted || closed {
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

// rejectHost takes in a NACK of a virtual host, unless the host has another version by now, or other proxies.
func (q *Quarantine) rejectHost(r NACK, report Report) {
	host, gateway := r.host(), ir.ParseTableID(r.Table).Gateway
	if q.rejectInstead(r) || q.tables.HostVersion(host) != r.Version || !q.tables.Serves(r.Group, gateway) ||
		q.corrected(gateway, causesOf(r)) || q.keepApart(r, report) {
		return
	}
	switch {
	case r.Filters:
		q.rejectFilters(r, report.Reason)
	case r.Together && q.flatten(host):
		// Proxies may accept the same rules in another form.
	default:
		byRoute := r.byRoute()
		for key := range byRoute {
			if !q.full(quota{gateway: gateway}) && q.awaitOffer(place{key, gateway}) {
				q.delayed[r] = report
				return
			}
		}
		for _, key := range slices.Sorted(maps.Keys(byRoute)) {
			q.rejectRoute(place{key, gateway}, byRoute[key], report.Reason, causesOf(r))
		}
	}
	entry := &hostEntry{rejected: r.Version, reason: report.Reason, policies: r.Filters, causes: causesOf(r)}
	if before := q.unreplaced[host]; before != nil {
		entry.policies, entry.causes = entry.policies || before.policies, entry.causes.with(before.causes)
	}
	q.unreplaced[host] = entry
}

// byRoute returns the names of the rejected rules by route.
func (r NACK) byRoute() map[string][]string {
	rules := map[string][]string{}
	for name := range strings.SplitSeq(r.Routes, "\n") {
		if kind, key, ok := route.ObjectOf(name); ok {
			rules[string(kind)+"/"+key] = append(rules[string(kind)+"/"+key], name)
		}
	}
	return rules
}

// quota is for the routes of a Gateway that are apart, or for the others.
type quota struct {
	gateway string
	apart   bool
}

// full reports whether there is no room for another route whose good version is served.
func (q *Quarantine) full(of quota) bool { return q.counts[of] >= maxQuarantined }

// index records the entry of a route at a Gateway, nil for none.
func (q *Quarantine) index(p place, entry *routeEntry) {
	if known := q.routes[p]; known != nil {
		delete(q.routes, p)
		delete(q.byRoute[p.route], p.gateway)
		of := quota{p.gateway, known.apart}
		if q.counts[of]--; q.counts[of] == 0 {
			delete(q.counts, of)
		}
	}
	if entry != nil {
		q.routes[p] = entry
		if q.byRoute[p.route] == nil {
			q.byRoute[p.route] = map[string]*routeEntry{}
		}
		q.byRoute[p.route][p.gateway] = entry
		q.counts[quota{p.gateway, entry.apart}]++
	}
	if len(q.byRoute[p.route]) == 0 {
		delete(q.byRoute, p.route)
	}
}

// replaceForAll has all proxies of a Gateway get what those get that reject a route.
func (q *Quarantine) replaceForAll(p place, entry *routeEntry) {
	q.index(p, nil)
	entry.apart = false
	if q.full(quota{gateway: p.gateway}) {
		entry.limited, entry.good = true, nil
	}
	q.index(p, entry)
	q.setRoutes(p.route)
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

// rejectRoute puts a route in quarantine at a Gateway. If proxies reject the substitute too, it tries the next level.
func (q *Quarantine) rejectRoute(p place, rules []string, reason string, because causes) {
	current, exists := q.tables.Routes.Get(nil, p.route)
	if !exists {
		return
	}
	if known := q.routes[p]; known != nil && current.SameRules(known.rejected) {
		known.causes = known.causes.with(because)
		if known.apart {
			// No proxy that takes it is left.
			q.replaceForAll(p, known)
			return
		}
		switch instead, replaced := current.Instead[p.gateway]; {
		case !known.applies(instead.BeyondLimit):
			known.rejectErrors()
			q.setRoutes(p.route)
		case replaced && known.level() == known.served:
			known.rejectLevel()
			q.setRoutes(p.route)
		}
		return
	}
	q.quarantineRoute(p, current, routeEntry{
		rules: rules, reason: reason, limited: q.routes[p] == nil && q.full(quota{gateway: p.gateway}), beyond: current.Instead[p.gateway].BeyondLimit,
		causes: because,
	})
}

// quarantineRoute puts a route in quarantine, with the rules, the reason, the limit and the causes of an entry.
func (q *Quarantine) quarantineRoute(p place, current route.Resolved, fresh routeEntry) {
	current.Instead = nil
	entry := &fresh
	entry.rejected = current.Part(p.gateway)
	if entry.beyond {
		entry.rejectErrors()
	}
	if good, ok := q.lastGood[p]; ok && !entry.limited && good.Replaces(entry.rejected) {
		entry.good = &good
	}
	q.index(p, entry)
	if _, waited := q.waitUntil[p]; !waited {
		q.waitUntil[p] = time.Now()
	}
	q.setRoutes(p.route)
}

// setRoutes updates the table that stages read.
func (q *Quarantine) setRoutes(key string) {
	all := RouteSubstitutes{}
	for gateway, entry := range q.byRoute[key] {
		entry.offered = false
		copied := *entry
		all[gateway] = &copied
	}
	if len(all) == 0 {
		q.tables.Substitutes.Routes.Delete(key)
	} else {
		q.tables.Substitutes.Routes.Set(key, all)
	}
}

// rejectFilters puts the filters of a listener in quarantine. If no good ones are known, requests are answered 500.
func (q *Quarantine) rejectFilters(r NACK, reason string) {
	table := ir.ParseTableID(r.Table)
	listeners, _ := q.tables.Listeners.Get(nil, table)
	owner, ok := route.OwnerOf(listeners, r.Name)
	if !ok {
		return
	}
	listener := ir.ListenerID{Gateway: table.Gateway, Listener: owner.ID}
	wanted, known := q.tables.filtersOf(listener), q.filters[listener]
	switch {
	case known == nil && len(wanted) == 0:
		// The cause is a policy above the routes, and the host is closed.
	case known == nil || !slices.EqualFunc(known.rejected, wanted, sameFilter):
		q.quarantineFilters(listener, wanted, reason, causesOf(r))
	case slices.EqualFunc(known.instead, owner.Filters, sameFilter):
		// Proxies reject the substitute too.
		known.instead, known.good, known.closed, known.causes = []ir.ListenerFilter{{}}, false, true, known.causes.with(causesOf(r))
		q.tables.Substitutes.Filters.Set(listener, *known)
	}
}

func (q *Quarantine) quarantineFilters(listener ir.ListenerID, rejected []ir.ListenerFilter, reason string, because causes) {
	entry := &FilterSubstitute{rejected: rejected, instead: []ir.ListenerFilter{{}}, reason: reason, causes: because}
	if good, known := q.lastGoodFilters[listener]; known && replacesFilters(listener, good, rejected) {
		entry.instead, entry.good = good, true
	}
	q.filters[listener] = entry
	q.tables.Substitutes.Filters.Set(listener, *entry)
}
