package quarantine

import (
	"time"

	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/xds"
)

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
	// served is the level that proxies were sent last, if sent is set; offered is set if other replicas know the entry as it is.
	served        level
	sent, offered bool
	causes        causes
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

// rejectLevel records that proxies reject a level too.
func (q *routeEntry) rejectLevel(l level) {
	switch l {
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

// at returns what a level serves.
func (q *routeEntry) at(l level) route.Resolved {
	switch l {
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
			known.rejectLevel(known.level())
			q.setRoutes(p.route)
		}
		return
	}
	q.quarantineRoute(p, current, routeEntry{
		rules: rules, reason: reason, causes: because, limited: q.routes[p] == nil && q.full(quota{gateway: p.gateway}),
		beyond: current.Instead[p.gateway].BeyondLimit,
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
