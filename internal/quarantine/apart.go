package quarantine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// What some proxies of a group reject and others have acknowledged is not replaced for all: one outdated proxy takes nothing from others.
// The proxies that reject it get what would be served otherwise, the last known good version of the route or an error, or else a closed
// host. The route reports them.

// groupHost is a virtual host at the proxies of a group.
type groupHost struct {
	group xds.GroupID
	host  ir.HostID
}

// apartEntry is the version of a virtual host that some proxies reject.
type apartEntry struct {
	version string
	// routes are those at fault, as `<kind>/<namespace>/<name>`.
	routes []string
	// instead is the version that these proxies get, and closed reports that it answers 500 to all requests.
	instead string
	closed  bool
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
			_, all := q.convergence.Acked(group, in.state, nil)
			return all
		})
		if q.introduced[group] = list; len(list) == 0 {
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

// acked reports whether a proxy of a group, other than these, has acknowledged the present version of a host.
func (q *Quarantine) acked(at groupHost, but map[string]struct{}) bool {
	state := ""
	for _, in := range q.introduced[at.group] {
		if _, changed := in.hosts[at.host]; changed {
			state = in.state
		}
	}
	some, _ := q.convergence.Acked(at.group, state, but)
	return some
}

// keepApart takes in a NACK of a host that other proxies have acknowledged, and reports whether it is one. A closed host that is rejected
// is one too: nothing is left to try.
func (q *Quarantine) keepApart(r NACK, report Report) bool {
	at, reason := groupHost{r.Group, r.host()}, report.Reason
	entry := &apartEntry{version: r.Version, closed: r.Version == q.tables.ClosedVersion(at.host)}
	if known := q.apart[at]; known != nil && known.version == r.Version {
		entry, report = known, known.With(report)
	}
	if !entry.closed && (r.Filters || !q.acked(at, report.Pods)) {
		return false
	}
	byRoute := r.byRoute()
	for key := range byRoute {
		if q.awaitOffer(place{key, at.host.Table.Gateway}) {
			q.delayed[r] = report
			return true
		}
	}
	entry.Report, entry.closed = report, entry.closed || len(byRoute) == 0
	for _, key := range slices.Sorted(maps.Keys(byRoute)) {
		if !q.rejectApart(place{key, at.host.Table.Gateway}, byRoute[key], reason) {
			entry.closed = true
		}
		if !slices.Contains(entry.routes, key) {
			entry.routes = append(entry.routes, key)
		}
	}
	q.apart[at] = entry
	return true
}

// rejectApart puts a route in quarantine for the proxies that reject it. It returns false if they reject a substitute that others take.
func (q *Quarantine) rejectApart(p place, rules []string, reason string) bool {
	current, exists := q.tables.Routes.Get(nil, p.route)
	known := q.routes[p]
	switch {
	case !exists:
		return false
	case known != nil && current.SameRules(known.rejected):
		return known.apart
	}
	q.quarantineRoute(p, current, routeEntry{
		rules: rules, reason: reason, apart: true, limited: known == nil && q.full(p.gateway), beyond: current.Instead[p.gateway].BeyondLimit,
	})
	return true
}

// rejectInstead takes in a NACK of what proxies got instead. They get a closed host.
func (q *Quarantine) rejectInstead(r NACK) bool {
	entry := q.apart[groupHost{r.Group, r.host()}]
	if entry == nil || entry.instead == "" || entry.instead != r.Version || entry.version == r.Version {
		return false
	}
	entry.closed = true
	return true
}

// releaseApart forgets hosts that have changed, and those whose proxies are gone.
func (q *Quarantine) releaseApart() {
	maps.DeleteFunc(q.apart, func(at groupHost, entry *apartEntry) bool {
		maps.DeleteFunc(entry.Pods, func(pod string, _ struct{}) bool { return !q.convergence.Knows(at.group, pod) })
		return len(entry.Pods) == 0 || q.tables.HostVersion(at.host) != entry.version
	})
}

// Apart calls visit for each host that some proxies of a group reject as it is, and others serve, with what is served instead at its
// routes. There is nothing for a closed host. It returns the version that these proxies get.
func (q *Quarantine) Apart(visit func(group xds.GroupID, host ir.HostID, instead map[string]route.Resolved) (version string)) {
	for at, entry := range q.apart {
		if q.tables.HostVersion(at.host) != entry.version {
			continue
		}
		var instead map[string]route.Resolved
		if !entry.closed {
			instead = q.insteadOf(at.host.Table.Gateway, entry.routes)
		}
		entry.instead = visit(at.group, at.host, instead)
	}
}

// insteadOf returns what proxies that reject these routes at a Gateway get.
func (q *Quarantine) insteadOf(gateway string, routes []string) map[string]route.Resolved {
	instead := map[string]route.Resolved{}
	for _, key := range routes {
		if entry := q.routes[place{key, gateway}]; entry != nil && entry.apart {
			current, _ := q.tables.Routes.Get(nil, key)
			if !entry.applies(current.Instead[gateway].BeyondLimit) {
				// It answers errors, which are rejected.
				instead[key] = entry.rejected.Widened().On(current, gateway)
			} else if instead[key] = entry.instead().On(current, gateway); !hasNeeds(current, instead[key]) {
				instead[key] = entry.rejected.Closed().On(current, gateway)
			}
		}
	}
	return instead
}

// hasNeeds reports whether proxies have the clusters and secrets of a substitute: those of the route as it is.
func hasNeeds(current, instead route.Resolved) bool {
	backends, credentials := current.GatewayBackends(), current.GatewayCredentials()
	return !slices.ContainsFunc(instead.GatewayBackends(), func(b ir.GatewayBackend) bool { return !slices.Contains(backends, b) }) &&
		!slices.ContainsFunc(instead.GatewayCredentials(), func(s ir.GatewaySecret) bool { return !slices.Contains(credentials, s) })
}

// noticeApart reports what some proxies reject: the routes at fault, or all of the host if these are not known.
func (q *Quarantine) noticeApart(add func(Notice)) {
	for at, entry := range q.apart {
		gateway, pods := at.host.Table.Gateway, slices.Sorted(maps.Keys(entry.Pods))
		where := fmt.Sprintf("at proxy %s, and other proxies serve this version; replace those that are outdated",
			strings.Join(pods[:min(len(pods), maxPods)], ", "))
		routes := entry.routes
		if len(routes) == 0 {
			routes = q.tables.HostRoutes(at.host)
		}
		for _, key := range routes {
			kind, own := store.SplitKindKey(key)
			switch known := q.routes[place{key, gateway}]; {
			case q.hosts[at.host] != nil:
				// It is closed for all, and reported.
			case known != nil && known.apart && !entry.closed:
				q.noticeRoute(add, place{key, gateway}, known, where)
			default:
				add(Notice{Kind: kind, Key: own, Gateway: gateway, Message: fmt.Sprintf(
					"a proxy of Gateway %s rejected (NACK) it for host %s: %s; all requests for the host are answered 500 %s",
					gateway, at.host.Domain, entry.Reason, where)})
			}
		}
	}
}

// maxPods is the number of proxies that a message names.
const maxPods = 3
