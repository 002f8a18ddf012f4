package quarantine

import (
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/xds"
)

// GroupHost is a virtual host at the proxies of a group.
type GroupHost struct {
	Group xds.GroupID
	Host  ir.HostID
}

// keySeparator is in no name of a group.
const keySeparator = "|"

// String is `<group>|<host>`.
func (g GroupHost) String() string { return g.Group.String() + keySeparator + g.Host.String() }

// ParseGroupHost is the inverse of [GroupHost.String].
func ParseGroupHost(s string) GroupHost {
	group, host, _ := strings.Cut(s, keySeparator)
	id, _ := xds.ParseGroupID(group)
	return GroupHost{id, ir.ParseHostID(host)}
}

// ApartSubstitute replaces a version of a virtual host at the proxies of a group that reject it, while others serve it.
type ApartSubstitute struct {
	rejected     string
	flat, closed bool
	routes       []string
}

// Beside is a route that answers errors at proxies because they reject another one, each `<kind>/<namespace>/<name>`. Without a name, that
// is one of its namespace.
type Beside struct{ Route, Because string }

// Flat reports whether its rules are sent as a list.
func (s ApartSubstitute) Flat() bool { return s.flat && !s.closed }

// Replaces reports whether it is for this version of the host.
func (s ApartSubstitute) Replaces(version string) bool { return version != "" && version == s.rejected }

// Routes returns what these proxies get instead of routes at a Gateway, nothing for a closed host. The functions return a route, and what
// is in quarantine of it.
func (s ApartSubstitute) Routes(
	gateway string, current func(key string) route.Resolved, substitutes func(key string) RouteSubstitutes,
) map[string]route.Resolved {
	instead := map[string]route.Resolved{}
	if s.closed {
		return instead
	}
	for _, key := range s.routes {
		if entry := substitutes(key)[gateway]; entry != nil && entry.apart {
			instead[key] = entry.insteadAt(gateway, current(key))
		}
	}
	return instead
}

// insteadAt returns what proxies that reject a route get at a Gateway.
func (q *routeEntry) insteadAt(gateway string, current route.Resolved) route.Resolved {
	return q.at(q.levelAt(gateway, current)).On(current, gateway)
}

// levelAt returns the level that proxies get which reject a route.
func (q *routeEntry) levelAt(gateway string, current route.Resolved) level {
	left := *q
	switch {
	case current.Instead[gateway].BeyondLimit:
		// It answers errors, which are rejected.
		left.goodRejected, left.closedRejected = true, true
	case q.level() == lastGood && !hasNeeds(current, q.good.On(current, gateway)):
		left.goodRejected = true
	}
	return left.level()
}

// hasNeeds reports whether proxies have the clusters and secrets of a substitute: those of the route as it is.
func hasNeeds(current, instead route.Resolved) bool {
	backends, credentials := current.GatewayBackends(), current.GatewayCredentials()
	return !slices.ContainsFunc(instead.GatewayBackends(), func(b ir.GatewayBackend) bool { return !slices.Contains(backends, b) }) &&
		!slices.ContainsFunc(instead.GatewayCredentials(), func(s ir.GatewaySecret) bool { return !slices.Contains(credentials, s) })
}
