package quarantine

import (
	"reflect"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// Tables are the tables of the graph that a [Quarantine] reads, and those that it writes.
type Tables struct {
	Objects  *store.Objects
	Gateways *store.Table[gateway.Resolved]
	// Routes has to collect what is replaced.
	Routes *store.Table[route.Resolved]
	// Listeners are those of each route table.
	Listeners *store.TableOf[ir.TableID, []gateway.ParentListener]
	Hosts     *store.TableOf[ir.HostID, ir.VirtualHost]
	// HostVersion returns the version of the resource of a virtual host, empty if there is none. ClosedVersion returns that of one that
	// answers 500 to all requests.
	HostVersion, ClosedVersion func(ir.HostID) string
	// InsteadVersion returns the version that proxies get instead of a host that they reject and others serve, empty if there is none.
	InsteadVersion func(GroupHost) string
	// Beside returns the routes that answer errors there because of others.
	Beside func(GroupHost) []Beside
	// Serves reports whether the proxies of a group serve a Gateway.
	Serves func(group xds.GroupID, gateway string) bool
	// HeaderVersion returns the version of a route table without its virtual hosts, empty if there is none.
	HeaderVersion func(ir.TableID) string
	// ClusterVersion returns the version of a cluster of a Gateway, empty if there is none.
	ClusterVersion func(gateway, cluster string) string
	// HostRoutes are the routes of a virtual host, as `<kind>/<namespace>/<name>`.
	HostRoutes  func(ir.HostID) []string
	Substitutes Substitutes
	// PolicyOrigins are the policies that all rules of a listener inherit settings from.
	PolicyOrigins func(ir.ListenerID) []ir.ObjectRef
}

// Substitutes are the tables that a [Quarantine] writes and that stages read.
type Substitutes struct {
	// Routes are by `<kind>/<namespace>/<name>`.
	Routes  *store.Table[RouteSubstitutes]
	Filters *store.TableOf[ir.ListenerID, FilterSubstitute]
	// FlatHosts are the hosts whose rules proxies reject as a tree.
	FlatHosts *store.TableOf[ir.HostID, bool]
	// Hosts are closed, because proxies reject them and nothing else replaces them.
	Hosts *store.TableOf[ir.HostID, HostSubstitute]
	// Apart are hosts that some proxies of a group reject.
	Apart *store.TableOf[GroupHost, ApartSubstitute]
}

// NewSubstitutes adds the tables to a Store. They have to stand before the stages that read them.
func NewSubstitutes(s *store.Store) Substitutes {
	return Substitutes{
		Routes:    store.NewTable[RouteSubstitutes](s, "quarantined routes"),
		Filters:   store.NewTableOf[ir.ListenerID, FilterSubstitute](s, "quarantined filters", ir.ParseListenerID),
		FlatHosts: store.NewTableOf[ir.HostID, bool](s, "flat hosts", ir.ParseHostID),
		Hosts:     store.NewTableOf[ir.HostID, HostSubstitute](s, "quarantined hosts", ir.ParseHostID),
		Apart:     store.NewTableOf[GroupHost, ApartSubstitute](s, "hosts apart", ParseGroupHost),
	}
}

// FilterSubstitute has proxies answer 500 instead of asking the filters of a listener that they reject.
type FilterSubstitute struct {
	rejected []ir.ListenerFilter
	reason   string
	causes   causes
}

// RouteSubstitutes are what proxies serve instead of a route, by Gateway. They apply while the route has the rules that were rejected;
// those that are apart do at some proxies alone.
type RouteSubstitutes map[string]*routeEntry

// Apply replaces the rules of a route at the Gateways whose proxies reject them.
func (s RouteSubstitutes) Apply(r route.Resolved) route.Resolved {
	for gateway, q := range s {
		beyond := r.Instead[gateway].BeyondLimit
		if !q.apart && r.SameRules(q.rejected) && slices.Contains(r.Gateways(), gateway) && q.applies(beyond) {
			instead := q.at(q.level()).On(r, gateway)
			instead.BeyondLimit = beyond
			r = r.With(gateway, instead)
		}
	}
	return r
}

// Apply returns the filters to serve: one that answers 500 if these are the rejected ones.
func (f FilterSubstitute) Apply(filters []ir.ListenerFilter) []ir.ListenerFilter {
	if f.replaces(filters) {
		return []ir.ListenerFilter{{}}
	}
	return filters
}

// replaces reports whether these filters are the rejected ones.
func (f FilterSubstitute) replaces(filters []ir.ListenerFilter) bool {
	return reflect.DeepEqual(filters, f.rejected)
}
