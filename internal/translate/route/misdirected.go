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

// guard keeps the routes of a virtual host for the connections of one chain and answers all others with 421. GEP-3567: a client that
// reuses a connection for another hostname, for which the port has a listener of its own, is told to open a new one.
// The routes are in the tree, if there is one.
func guard(host ir.VirtualHost, routes []*routev3.Route, tree *xdsmatcherv3.Matcher) *xdsmatcherv3.Matcher {
	misdirected := &routev3.Route{Name: "misdirected", Match: plainPrefix("/")}
	fail(misdirected, misdirectedRequest)
	misdirected.TypedPerFilterConfig = filter.WithoutFilters(&host)
	own := wire.Action("routes", &routev3.RouteList{Routes: routes})
	if tree != nil {
		own = &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Matcher{Matcher: tree}}
	}
	return &xdsmatcherv3.Matcher{
		MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
			Input: wire.Extension("chain", &networkinputv3.FilterStateInput{Key: filter.ChainName}),
			TreeType: &xdsmatcherv3.Matcher_MatcherTree_ExactMatchMap{ExactMatchMap: &xdsmatcherv3.Matcher_MatcherTree_MatchMap{
				Map: map[string]*xdsmatcherv3.Matcher_OnMatch{host.Chain: own},
			}},
		}},
		OnNoMatch: wire.Action("misdirected", misdirected),
	}
}
