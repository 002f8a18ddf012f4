package quarantine

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
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
	rejected string
	cause    hostCause
	// closed is the version of the closed host.
	closed string
	// offered is set if other replicas know the entry.
	offered bool
	causes  causes
}

// hostCause is why a host is closed.
type hostCause struct {
	reason string
	// policies reports that it is in what the rules of the host share: filters of the listener, or policies on it or above. Otherwise these
	// routes are at fault, if they are known.
	policies bool
	routes   []string
}

// with adds what an earlier NACK of the same host says. What all rules share counts more than a route.
func (c hostCause) with(before hostCause) hostCause {
	if before.policies && !c.policies {
		return before
	}
	c.routes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.routes, before.routes))))
	return c
}

// closeUnreplaced closes the hosts that proxies reject and that have the same version after a step, if no level of a route is left that may
// change that. It reports whether anything has changed.
func (q *Quarantine) closeUnreplaced() (changed bool) {
	for host, entry := range q.unreplaced {
		switch {
		case q.tables.HostVersion(host) != entry.rejected:
		case q.skipLevels(host.Table.Gateway, entry.cause):
			changed = true
			continue
		default:
			changed = q.closeHost(host, entry) || changed
		}
		delete(q.unreplaced, host)
	}
	return changed
}

// skipLevels has all proxies get the next levels of routes whose present ones are the same as what proxies reject. It returns false if
// there are none.
func (q *Quarantine) skipLevels(gateway string, cause hostCause) (changed bool) {
	if cause.policies {
		return false
	}
	for _, key := range cause.routes {
		entry := q.routes[place{key, gateway}]
		switch {
		case entry == nil || entry.apart || !entry.sent || entry.level() == closedHostnames:
		case entry.level() != entry.served:
			changed = true
		default:
			entry.rejectLevel(entry.level())
			q.setRoutes(key)
			changed = true
		}
	}
	return changed
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
