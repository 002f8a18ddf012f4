package xds_test

import (
	"testing"
	"testing/synctest"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestTheRouteThatSpoilsATreeIsFoundOnceThoughItIsInSeveralPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := make(journal, 100)
		c, p := scoped(t, j)
		good, bad := &routev3.Route{Name: "HTTPRoute/shop/good/0"}, &routev3.Route{Name: "HTTPRoute/shop/bad/0"}
		leaf := func(routes ...*routev3.Route) *xdsmatcherv3.Matcher_OnMatch {
			body, err := anypb.New(&routev3.RouteList{Routes: routes})
			if err != nil {
				t.Fatal(err)
			}
			return &xdsmatcherv3.Matcher_OnMatch{
				OnMatch: &xdsmatcherv3.Matcher_OnMatch_Action{Action: &xdscorev3.TypedExtensionConfig{Name: "routes", TypedConfig: body}},
			}
		}
		message := &routev3.VirtualHost{Name: "b", Domains: []string{"b.example"}, Matcher: &xdsmatcherv3.Matcher{
			MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
				TreeType: &xdsmatcherv3.Matcher_MatcherTree_PrefixMatchMap{PrefixMatchMap: &xdsmatcherv3.Matcher_MatcherTree_MatchMap{
					Map: map[string]*xdsmatcherv3.Matcher_OnMatch{"/a": leaf(good, bad), "/b": leaf(bad)},
				}},
			}},
			OnNoMatch: leaf(bad),
		}}
		c.cache.Apply([]xds.Change{{Group: group, Type: xds.VirtualHost, Table: "t1", Name: "b.example", Resource: resource(t, message)}})
		scope := p.receive()
		check(t, scope, scopeURL, []string{"t1|b.example"}, nil)
		p.refuse(scope, "no such thing")
		answerProbes(t, p)
		j.expect(t, "refused virtual_host t1 b.example [HTTPRoute/shop/bad/0]: no such thing")
		j.nothing(t)
	})
}
