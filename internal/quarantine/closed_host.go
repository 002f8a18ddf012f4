package quarantine

import (
	"fmt"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// A virtual host that proxies reject would hold back everything behind it. So it has another version after one step: that of its routes, of
// the filters of its listener, or else one that answers 500 to all requests. This is for what no route is the cause of, such as policies
// above the routes and rules that Gatewright adds, and for routes whose every substitute is rejected too. A wider host never gets the
// requests.

// HostSubstitute closes a virtual host while it has the version that proxies reject.
type HostSubstitute struct{ rejected string }

// Closes reports whether proxies reject this version of the host.
func (s HostSubstitute) Closes(version string) bool { return version != "" && version == s.rejected }

// hostEntry is a virtual host that proxies reject.
type hostEntry struct {
	rejected, reason string
	// policies reports that the cause is in what its rules share: filters of the listener, or policies on it or above.
	policies bool
	// offered is set if other replicas know the entry.
	offered bool
}

// closeUnreplaced closes the hosts that proxies reject and that have the same version after a step. It reports whether there are any.
func (q *Quarantine) closeUnreplaced() bool {
	closed := false
	for host, entry := range q.unreplaced {
		if q.tables.HostVersion(host) == entry.rejected {
			closed = q.closeHost(host, entry) || closed
		}
	}
	clear(q.unreplaced)
	return closed
}

// closeHost closes a host. It does nothing if proxies reject that too.
func (q *Quarantine) closeHost(host ir.HostID, entry *hostEntry) bool {
	if known := q.hosts[host]; known != nil && known.rejected == entry.rejected || entry.rejected == q.tables.ClosedVersion(host) {
		return false
	}
	q.hosts[host] = entry
	q.tables.Substitutes.Hosts.Set(host, HostSubstitute{rejected: entry.rejected})
	return true
}

// releaseHosts forgets the closed hosts that have changed.
func (q *Quarantine) releaseHosts() {
	for host, entry := range q.hosts {
		if q.tables.HostVersion(host) != q.tables.ClosedVersion(host) {
			q.openHost(host, entry)
		}
	}
}

// openHost takes a host out of quarantine.
func (q *Quarantine) openHost(host ir.HostID, entry *hostEntry) {
	delete(q.hosts, host)
	q.tables.Substitutes.Hosts.Delete(host)
	q.withdraw(hostKey(host), entry.rejected)
}

// noticeHosts reports the closed hosts: their routes, the policies on the listener if these are the cause, and the listener if there are
// neither.
func (q *Quarantine) noticeHosts(add func(Notice)) {
	for host, entry := range q.hosts {
		name := host.Table.Gateway
		listeners, _ := q.tables.Listeners.Get(nil, host.Table)
		owner, _ := route.OwnerOf(listeners, host.Domain)
		message := fmt.Sprintf("a proxy of Gateway %s rejected (NACK) host %s of listener %s: %s; all its requests are answered 500 until it "+
			"changes; correct its routes, or the policies on them and on the listener", name, host.Domain, owner.Name, entry.reason)
		named := false
		for _, key := range q.tables.HostRoutes(host) {
			kind, own := store.SplitKindKey(key)
			add(Notice{Kind: kind, Key: own, Gateway: name, Message: message})
			named = true
		}
		if entry.policies {
			for _, origin := range q.tables.PolicyOrigins(ir.ListenerID{Gateway: name, Listener: owner.ID}) {
				add(Notice{Kind: store.Kind(origin.Kind), Key: origin.Name.String(), Gateway: name, Message: message})
				named = true
			}
		}
		if named {
			continue
		}
		resolved, _ := q.tables.Gateways.Get(nil, name)
		for object, names := range resolved.Owners(func(l gateway.Listener) bool { return l.ID == owner.ID }) {
			add(Notice{Kind: object.Kind, Key: object.Key, Gateway: name, Listeners: names, Message: message})
		}
	}
}
