package route

import (
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	networkinputv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/network/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const misdirectedRequest = 421

// guards are what connections have to carry whose requests may reach the routes of a virtual host. Both must hold.
//
// GEP-3567: a client that reuses a connection for another hostname, for which the port has a listener of its own, is told to open a new
// one. So is one whose connection is older than the filters that requests have to pass before a route is chosen: no request passes without
// them.
func guards(host *ir.VirtualHost) []carried {
	var all []carried
	if len(host.Filters) > 0 && !filter.Unchecked(host) {
		all = append(all, carried{"place", filter.BeforeRouting(len(host.Filters) - 1), filter.PlaceKept})
	}
	if host.Chain != "" {
		all = append(all, carried{"chain", filter.ChainName, host.Chain})
	}
	return all
}

// carried is a value of the filter state of a connection.
type carried struct{ name, key, value string }

// guard keeps the routes of a virtual host for the connections that carry these values, and answers all others with 421. The routes are in
// the tree, if there is one.
func guard(host *ir.VirtualHost, all []carried, routes []*routev3.Route, tree *xdsmatcherv3.Matcher) *xdsmatcherv3.Matcher {
	misdirected := &routev3.Route{Name: "misdirected", Match: plainPrefix("/")}
	fail(misdirected, misdirectedRequest)
	misdirected.TypedPerFilterConfig = filter.WithoutFilters(host)
	own := wire.Action("routes", &routev3.RouteList{Routes: routes})
	for _, c := range all {
		if tree != nil {
			own = &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Matcher{Matcher: tree}}
		}
		tree = &xdsmatcherv3.Matcher{
			MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
				Input: wire.Extension(c.name, &networkinputv3.FilterStateInput{Key: c.key}),
				TreeType: &xdsmatcherv3.Matcher_MatcherTree_ExactMatchMap{ExactMatchMap: &xdsmatcherv3.Matcher_MatcherTree_MatchMap{
					Map: map[string]*xdsmatcherv3.Matcher_OnMatch{c.value: own},
				}},
			}},
			OnNoMatch: wire.Action("misdirected", misdirected),
		}
	}
	return tree
}
