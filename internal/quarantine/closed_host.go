package quarantine

import "github.com/gatewright/gatewright/internal/ir"

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
	// closed is the version of the closed host.
	closed string
	// policies reports that the cause is in what its rules share: filters of the listener, or policies on it or above.
	policies bool
	// offered is set if other replicas know the entry.
	offered bool
	causes  causes
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
	if known := q.hosts[host]; known != nil && known.rejected == entry.rejected {
		return false
	}
	if entry.closed = q.tables.ClosedVersion(host); entry.closed == entry.rejected {
		return false
	}
	q.hosts[host] = entry
	q.tables.Substitutes.Hosts.Set(host, HostSubstitute{rejected: entry.rejected})
	return true
}

// releaseHosts opens the closed hosts that have changed, or of which the cause has. It reports whether there are any of the latter.
func (q *Quarantine) releaseHosts() (retried bool) {
	for host, entry := range q.hosts {
		corrected := q.corrected(host.Table.Gateway, entry.causes)
		if !corrected && q.tables.HostVersion(host) == entry.closed {
			continue
		}
		retried = retried || corrected
		delete(q.hosts, host)
		q.tables.Substitutes.Hosts.Delete(host)
		q.withdraw(hostKey(host), entry.rejected)
	}
	return retried
}
