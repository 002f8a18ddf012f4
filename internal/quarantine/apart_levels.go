package quarantine

import (
	"maps"
	"slices"
)

// replaceApart takes in a NACK of a host, or of what proxies got instead. They get the next level of the routes that it names, and a closed
// host if there is none, or if it names none.
func (q *Quarantine) replaceApart(at GroupHost, entry *apartEntry, r NACK) {
	byRoute, left := r.byRoute(), []string(nil)
	for _, key := range r.routes() {
		p, known := place{key, at.Host.Table.Gateway}, slices.Index(entry.routes, key)
		if known < 0 {
			entry.routes = append(entry.routes, key)
		}
		instead := r.Version != entry.version && known >= 0 && known < entry.sent
		if !q.rejectApart(p, byRoute[key], r, entry) || instead && !q.nextLevel(p) {
			left = append(left, key)
		}
		if !slices.Contains(entry.named, key) {
			entry.named = append(entry.named, key)
		}
	}
	entry.causes = entry.causes.with(causesOf(r))
	if r.Filters || len(byRoute) == 0 || len(left) > 0 {
		entry.close(hostCause{reason: entry.Reason, policies: r.Filters, routes: left})
	}
	q.setApart(at, entry)
}

// close has proxies get a closed host. What all rules of the host share counts more than a route that is rejected too.
func (e *apartEntry) close(cause hostCause) {
	if !e.closed || !e.cause.policies || cause.policies {
		e.closed, e.cause = true, cause
	}
}

// rejectApart puts a route in quarantine for the proxies that reject it. It returns false if they reject a substitute that others take.
func (q *Quarantine) rejectApart(p place, rules []string, r NACK, host *apartEntry) bool {
	current, exists := q.tables.Routes.Get(nil, p.route)
	known := q.routes[p]
	switch {
	case !exists:
		return false
	case known == nil || !current.SameRules(known.rejected):
		q.quarantineRoute(p, current, routeEntry{
			rules: rules, reason: host.Reason, apart: true, limited: known == nil && q.full(quota{p.gateway, true}),
			beyond: current.Instead[p.gateway].BeyondLimit,
		})
		known = q.routes[p]
	case !known.apart:
		return false
	case r.Version == host.version && known.reason != host.Reason:
		known.rules, known.reason, known.offered = rules, host.Reason, false
	}
	pods := maps.Clone(host.Pods)
	maps.Copy(pods, known.pods)
	known.group, known.pods, known.offered = r.Group, pods, known.offered && len(known.pods) > 0
	known.causes = known.causes.with(causesOf(r))
	return true
}

// rejectInstead takes in a NACK of what proxies got instead.
func (q *Quarantine) rejectInstead(r NACK, report Report) bool {
	at := GroupHost{r.Group, r.host()}
	entry := q.apart[at]
	if entry == nil || entry.version == r.Version || q.tables.InsteadVersion(at) != r.Version {
		return false
	}
	if entry.closed {
		// Nothing is left to try.
		return true
	}
	entry.Report, entry.instead = entry.With(report), r.Version
	if r.Together && !entry.flat && q.hasTree(at.Host) {
		entry.flat = true
		q.setApart(at, entry)
		return true
	}
	q.replaceApart(at, entry, r)
	return true
}

// nextLevel has proxies get the next level of a route that they reject, unless they have not been sent the present one. It returns false if
// there is none.
func (q *Quarantine) nextLevel(p place) bool {
	current, _ := q.tables.Routes.Get(nil, p.route)
	entry := q.routes[p]
	switch present := entry.levelAt(p.gateway, current); {
	case !entry.sent || present != entry.served:
	case present == closedHostnames:
		return false
	default:
		entry.rejectLevel(present)
		q.setRoutes(p.route)
	}
	return true
}

// settleApart has proxies get the next levels where they would get what they reject: a level may be the same as the one before. It reports
// whether there are any.
func (q *Quarantine) settleApart() (changed bool) {
	for at, entry := range q.apart {
		if entry.closed {
			continue
		}
		if instead := q.tables.InsteadVersion(at); instead == "" || instead != entry.version && instead != entry.instead {
			entry.sent, entry.named = len(entry.routes), nil
			continue
		}
		next := false
		for _, key := range entry.named {
			p := place{key, at.Host.Table.Gateway}
			if known := q.routes[p]; known != nil && known.apart && q.nextLevel(p) {
				next = true
			}
		}
		if !next {
			entry.close(hostCause{reason: entry.Reason, routes: slices.Sorted(slices.Values(entry.named))})
		}
		q.setApart(at, entry)
		changed = true
	}
	return changed
}
