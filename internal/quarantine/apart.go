package quarantine

import (
	"maps"
	"slices"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// What some proxies of a group reject and others have acknowledged is not replaced for all: one outdated proxy takes nothing from others.
// The proxies that reject a route get what would be served otherwise, one level after the other. Those that reject anything else of a host,
// such as a policy on the Gateway or a filter of the listener, get a closed host, and so do those that reject every level of a route.

// apartEntry is the version of a virtual host that some proxies reject.
type apartEntry struct {
	version string
	// closedVersion is that of the host when it answers 500 to all requests.
	closedVersion string
	// routes are those at fault, as `<kind>/<namespace>/<name>`. The first ones, sent in number, are replaced in what proxies were sent.
	routes []string
	sent   int
	// instead is the last version that proxies got instead and reject too, and named are the routes at fault since the last step.
	instead string
	named   []string
	// flat reports that these proxies get its rules as a list, and closed that they get a host that answers 500 to all requests, because of
	// cause.
	flat, closed bool
	cause        hostCause
	// offered reports that other replicas know the entry as it is, and shown that they know of it.
	offered, shown bool
	causes         causes
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
	// Others may be busy, or have to warm a cluster. The proxy keeps what it has for longer than that.
	answerWait = 20 * time.Second
	// answerPoll is how often these are looked at, and answerCost by how much less often for each NACK that waits.
	answerPoll, answerCost = 50 * time.Millisecond, 100 * time.Microsecond
)

// versionAt is a version of a virtual host at the proxies of a group.
type versionAt struct {
	GroupHost
	version string
}

// rejecting returns the proxies that reject each version, for whatever cause.
func rejecting(nacks map[NACK]Report) map[versionAt]map[string]struct{} {
	all := map[versionAt]map[string]struct{}{}
	for r, report := range nacks {
		if r.Type != xds.VirtualHost {
			continue
		}
		at := versionAt{GroupHost{r.Group, r.host()}, r.Version}
		if all[at] == nil {
			all[at] = map[string]struct{}{}
		}
		maps.Copy(all[at], report.Pods)
	}
	return all
}

// accepted reports whether other proxies have acknowledged what some reject, and whether that is not known yet.
func (q *Quarantine) accepted(r NACK, at GroupHost, but map[string]struct{}) (accepted, waits bool) {
	// Proxies of several versions may reject it for different causes: these have answered too.
	answered := maps.Clone(but)
	maps.Copy(answered, q.rejecting[versionAt{at, r.Version}])
	acked, ready := q.acked(at, answered)
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
	closedVersion := q.tables.ClosedVersion(at.Host)
	closed := r.Version == closedVersion
	entry := &apartEntry{version: r.Version, closedVersion: closedVersion, closed: closed, cause: hostCause{reason: report.Reason}}
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
	entry.Report = report
	q.replaceApart(at, entry, r)
	return true
}

// setApart records the entry of a host at a group.
func (q *Quarantine) setApart(at GroupHost, entry *apartEntry) {
	q.apart[at], entry.offered = entry, false
	q.tables.Substitutes.Apart.Set(at, ApartSubstitute{
		rejected: entry.version, flat: entry.flat, closed: entry.closed, routes: slices.Clone(entry.routes),
	})
}

// releaseApart forgets hosts that have changed, or of which the cause has, and hosts and routes whose proxies are gone. The xDS server
// sends a host again to a proxy that rejects it because of a cluster, when the proxy has answered another version of the cluster.
func (q *Quarantine) releaseApart() {
	var offered map[string]bool
	held := q.newHeld()
	for p, entry := range q.routes {
		if !entry.apart {
			continue
		}
		had := len(entry.pods) > 0
		if q.tables.Serves(entry.group, p.gateway) && !q.allGone(entry.group, entry.pods) {
			continue
		}
		if h, ok := held.of(p, entry); ok {
			// Proxies of another group reject it too.
			entry.group, entry.pods, entry.offered = h.group, h.pods, false
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
		if q.holds(at, entry) {
			continue
		}
		delete(q.apart, at)
		q.tables.Substitutes.Apart.Delete(at)
		if entry.shown && q.hosts[at.Host] == nil {
			q.peers.Withdraw(hostKey(at.Host))
		}
	}
}

// holds reports whether proxies of a group still reject a host.
func (q *Quarantine) holds(at GroupHost, entry *apartEntry) bool {
	gateway := at.Host.Table.Gateway
	return !q.allGone(at.Group, entry.Pods) && q.tables.Serves(at.Group, gateway) &&
		q.tables.HostVersion(at.Host) == entry.version && !q.corrected(gateway, entry.causes)
}

// offeredApart returns the places of which other replicas know proxies that reject a route.
func (q *Quarantine) offeredApart() map[string]bool {
	offered := map[string]bool{}
	for id, o := range q.offers {
		offered[id.Key] = offered[id.Key] || o.content.Apart
	}
	return offered
}
