package quarantine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// What some proxies of a group reject and others have acknowledged is not replaced for all: one outdated proxy takes nothing from others.
// The proxies that reject a route get what would be served otherwise, its last known good version or an error. Those that reject anything
// else of a host, such as a policy on the Gateway or a filter of the listener, get a closed host. The objects at fault report them.

// apartEntry is the version of a virtual host that some proxies reject.
type apartEntry struct {
	version string
	// routes are those at fault, as `<kind>/<namespace>/<name>`.
	routes []string
	// flat reports that these proxies get its rules as a list, and closed that they get a host that answers 500 to all requests.
	flat, closed bool
	// policies reports that the cause is in what the rules of the host share, and offered that other replicas know the entry.
	policies, offered bool
	causes            causes
	Report
}

// introduction is the state of a group in which hosts got the version that they have, unless they are in a later introduction.
type introduction struct {
	state string
	hosts map[ir.HostID]struct{}
}

// maxIntroductions limits the introductions of a group that are not acknowledged. The oldest ones are merged, as if they came later.
const maxIntroductions = 32

// Introduce records in which states of groups virtual hosts have changed. It is called when these states are published.
func (q *Quarantine) Introduce(changes []xds.Change, states map[xds.GroupID]string) {
	for group, list := range q.introduced {
		list = slices.DeleteFunc(list, func(in introduction) bool {
			acked, ready := q.convergence.Acked(group, in.state, nil)
			return ready > 0 && acked == ready
		})
		if q.introduced[group] = list; len(list) == 0 {
			delete(q.introduced, group)
		}
	}
	for group, state := range states {
		if state == xds.EmptyState {
			// Its Gateway is gone.
			delete(q.introduced, group)
		}
	}
	fresh := map[xds.GroupID]introduction{}
	for i := range changes {
		c := &changes[i]
		if c.Type != xds.VirtualHost || c.Resource == nil {
			continue
		}
		if _, known := fresh[c.Group]; !known {
			fresh[c.Group] = introduction{state: states[c.Group], hosts: map[ir.HostID]struct{}{}}
		}
		fresh[c.Group].hosts[ir.ParseTableID(c.Table).Host(c.Name)] = struct{}{}
	}
	for group, in := range fresh {
		q.introduced[group] = append(q.introduced[group], in)
		if list := q.introduced[group]; len(list) > maxIntroductions {
			maps.Copy(list[1].hosts, list[0].hosts)
			q.introduced[group] = slices.Delete(list, 0, 1)
		}
	}
}

// acked counts the proxies of a group, other than these, that are ready, and those that have acknowledged the present version of a host.
func (q *Quarantine) acked(at GroupHost, but map[string]struct{}) (acked, ready int) {
	state := ""
	for _, in := range q.introduced[at.Group] {
		if _, changed := in.hosts[at.Host]; changed {
			state = in.state
		}
	}
	return q.convergence.Acked(at.Group, state, but)
}

const (
	// answerWait is how long a NACK waits for the answers of other proxies: one that comes first does not take a version from all of them.
	answerWait = time.Second
	// answerPoll is how often these are looked at.
	answerPoll = 50 * time.Millisecond
)

// accepted reports whether other proxies have acknowledged what some reject, and whether that is not known yet.
func (q *Quarantine) accepted(r NACK, at GroupHost, but map[string]struct{}) (accepted, waits bool) {
	acked, ready := q.acked(at, but)
	if acked > 0 || ready == 0 {
		return acked > 0, false
	}
	until, known := q.answerUntil[r]
	if !known {
		until = time.Now().Add(answerWait)
		q.answerUntil[r] = until
	}
	return false, time.Now().Before(until)
}

// keepApart takes in a NACK of a host that other proxies have acknowledged, and reports whether it is one. A closed host that is rejected
// is one too: nothing is left to try.
func (q *Quarantine) keepApart(r NACK, report Report) bool {
	at := GroupHost{r.Group, r.host()}
	closed := r.Version == q.tables.ClosedVersion(at.Host)
	entry := &apartEntry{version: r.Version, closed: closed}
	if known := q.apart[at]; known != nil && known.version == r.Version {
		entry, report = known, known.With(report)
	}
	if !closed {
		accepted, waits := q.accepted(r, at, report.Pods)
		if waits {
			q.delayed[r] = report
		}
		if !accepted {
			return waits
		}
	}
	if r.Together && !entry.closed && q.hasTree(at.Host) {
		// They may accept the same rules in another form.
		entry.Report, entry.flat = report, true
		q.setApart(at, entry)
		return true
	}
	if q.awaitOffers(r) {
		q.delayed[r] = report
		return true
	}
	byRoute := r.byRoute()
	entry.Report, entry.closed = report, entry.closed || len(byRoute) == 0
	entry.policies, entry.offered, entry.causes = entry.policies || r.Filters, false, entry.causes.with(causesOf(r))
	for _, key := range slices.Sorted(maps.Keys(byRoute)) {
		if !q.rejectApart(place{key, at.Host.Table.Gateway}, byRoute[key], r, report) {
			entry.closed = true
		}
		if !slices.Contains(entry.routes, key) {
			entry.routes = append(entry.routes, key)
		}
	}
	q.setApart(at, entry)
	return true
}

// setApart records the entry of a host at a group.
func (q *Quarantine) setApart(at GroupHost, entry *apartEntry) {
	q.apart[at] = entry
	q.tables.Substitutes.Apart.Set(at, ApartSubstitute{
		rejected: entry.version, flat: entry.flat, closed: entry.closed, routes: slices.Clone(entry.routes),
	})
}

// rejectApart puts a route in quarantine for the proxies that reject it. It returns false if they reject a substitute that others take.
func (q *Quarantine) rejectApart(p place, rules []string, r NACK, report Report) bool {
	current, exists := q.tables.Routes.Get(nil, p.route)
	known := q.routes[p]
	switch {
	case !exists:
		return false
	case known == nil || !current.SameRules(known.rejected):
		q.quarantineRoute(p, current, routeEntry{
			rules: rules, reason: report.Reason, apart: true, limited: known == nil && q.full(quota{p.gateway, true}),
			beyond: current.Instead[p.gateway].BeyondLimit,
		})
		known = q.routes[p]
	case !known.apart:
		return false
	}
	pods := maps.Clone(report.Pods)
	maps.Copy(pods, known.pods)
	known.group, known.pods, known.offered = r.Group, pods, known.offered && len(known.pods) > 0
	known.causes = known.causes.with(causesOf(r))
	return true
}

// rejectInstead takes in a NACK of what proxies got instead. They get a closed host.
func (q *Quarantine) rejectInstead(r NACK) bool {
	at := GroupHost{r.Group, r.host()}
	entry := q.apart[at]
	if entry == nil || entry.version == r.Version || q.tables.InsteadVersion(at) != r.Version {
		return false
	}
	entry.closed = true
	q.setApart(at, entry)
	return true
}

// releaseApart forgets hosts that have changed, or of which the cause has, and hosts and routes whose proxies are gone. The xDS server
// sends a host again to a proxy that rejects it because of a cluster, when the proxy has answered another version of the cluster.
func (q *Quarantine) releaseApart() {
	var offered map[string]bool
	for p, entry := range q.routes {
		if !entry.apart {
			continue
		}
		had := len(entry.pods) > 0
		if q.tables.Serves(entry.group, p.gateway) && !q.allGone(entry.group, entry.pods) {
			continue
		}
		entry.pods = nil
		if had {
			entry.offered = false
			q.peers.Withdraw(p.offerKey())
		}
		if offered == nil {
			offered = q.offeredApart()
		}
		if !offered[p.offerKey()] {
			q.remove(p, entry)
		}
	}
	for at, entry := range q.apart {
		gateway := at.Host.Table.Gateway
		if !q.allGone(at.Group, entry.Pods) && q.tables.Serves(at.Group, gateway) &&
			q.tables.HostVersion(at.Host) == entry.version && !q.corrected(gateway, entry.causes) {
			continue
		}
		delete(q.apart, at)
		q.tables.Substitutes.Apart.Delete(at)
		if entry.offered && q.hosts[at.Host] == nil {
			q.peers.Withdraw(hostKey(at.Host))
		}
	}
}

// offeredApart returns the places of which other replicas know proxies that reject a route.
func (q *Quarantine) offeredApart() map[string]bool {
	offered := map[string]bool{}
	for id, o := range q.offers {
		offered[id.Key] = offered[id.Key] || o.content.Apart
	}
	return offered
}

// noticeApart reports what some proxies reject: the routes at fault, or all of the host if these are not known.
func (q *Quarantine) noticeApart(add func(Notice)) {
	closed, hosts := map[place]bool{}, q.newHostNotices(add)
	for at, entry := range q.apart {
		if q.hosts[at.Host] != nil || !entry.closed {
			// It is closed for all, and reported, or the routes report it.
			continue
		}
		for _, key := range entry.routes {
			closed[place{key, at.Host.Table.Gateway}] = true
		}
		hosts.report(at.Host, entry.Reason, entry.policies, entry.routes, where(entry.Pods))
	}
	q.eachHostApartElsewhere(func(host ir.HostID, o offerContent) { hosts.report(host, o.Reason, o.Policies, nil, where(nil)) })
	hosts.flush()
	for p, entry := range q.routes {
		if entry.apart && !closed[p] {
			q.noticeRoute(add, p, entry, where(entry.pods))
		}
	}
}

// eachHostApartElsewhere visits the hosts that are closed at proxies which only other replicas know.
func (q *Quarantine) eachHostApartElsewhere(visit func(ir.HostID, offerContent)) {
	known := map[ir.HostID]bool{}
	for at := range q.apart {
		known[at.Host] = true
	}
	for id, o := range q.offers {
		text, isHost := strings.CutPrefix(id.Key, hostPrefix)
		if !isHost || !o.content.Apart {
			continue
		}
		if host := ir.ParseHostID(text); !known[host] && q.hosts[host] == nil && q.tables.HostVersion(host) == o.rejected &&
			!q.corrected(host.Table.Gateway, o.content.Causes) {
			known[host] = true
			visit(host, o.content)
		}
	}
}

// where names proxies that reject what others serve.
func where(pods map[string]struct{}) string {
	names := "some proxies"
	if sorted := slices.Sorted(maps.Keys(pods)); len(sorted) > 0 {
		names = "proxy " + strings.Join(sorted[:min(len(sorted), maxPods)], ", ")
	}
	return "at " + names + ", and other proxies serve this version; replace those that are outdated"
}

// maxPods is the number of proxies that a message names.
const maxPods = 3
