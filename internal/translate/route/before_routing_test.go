package route_test

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

func filtered(t *testing.T, chain string, filters ...ir.ExternalAuth) *routev3.VirtualHost {
	t.Helper()
	vh, _ := route.VirtualHost(ir.VirtualHost{Domain: "a.example", Chain: chain, Filters: filters, Rules: []ir.Rule{{
		Name: "rule", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Exact, Value: "/x"}}, Fail: &ir.Fail{StatusCode: 418},
	}}})
	prototest.Valid(t, vh)
	return vh
}

func TestFiltersBeforeRouting(t *testing.T) {
	t.Parallel()
	t.Run("each has its place, and what it changes counts for the route", func(t *testing.T) {
		t.Parallel()
		vh := filtered(t, "", ir.ExternalAuth{Backend: "first"}, ir.ExternalAuth{Backend: "second", GRPC: true})
		for place, want := range []string{"first", "second"} {
			settings := unpack(t, vh.GetTypedPerFilterConfig()[filter.BeforeRouting(place)], &compositev3.CompositePerRoute{})
			action := unpack(t, settings.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig(), &compositev3.ExecuteFilterAction{})
			auth := unpack(t, action.GetTypedConfig().GetTypedConfig(), &extauthzv3.ExtAuthz{})
			asked := auth.GetHttpService().GetServerUri().GetCluster() + auth.GetGrpcService().GetEnvoyGrpc().GetClusterName()
			if asked != want || !auth.GetClearRouteCache() || auth.GetDecoderHeaderMutationRules().GetDisallowExpression() == nil {
				t.Errorf("place %d: %v", place, auth)
			}
		}
	})
	t.Run("every request finds a route, and so the filters", func(t *testing.T) {
		t.Parallel()
		routes := filtered(t, "", ir.ExternalAuth{Backend: "first"}).GetRoutes()
		if last := routes[len(routes)-1]; last.GetMatch().GetPrefix() != "/" || last.GetDirectResponse().GetStatus() != 404 {
			t.Errorf("the last route: %v", last)
		}
	})
	t.Run("without filters nothing is added", func(t *testing.T) {
		t.Parallel()
		if vh := filtered(t, ""); len(vh.GetRoutes()) != 1 || vh.GetTypedPerFilterConfig()[filter.BeforeRouting(0)] != nil {
			t.Errorf("virtual host: %v", vh)
		}
	})
	t.Run("nothing passes when one can not be asked", func(t *testing.T) {
		t.Parallel()
		routes := filtered(t, "", ir.ExternalAuth{Backend: "first"}, ir.ExternalAuth{}).GetRoutes()
		if len(routes) != 1 || routes[0].GetMatch().GetPrefix() != "/" || routes[0].GetDirectResponse().GetStatus() != 500 {
			t.Errorf("routes: %v", routes)
		}
	})
	t.Run("requests of another listener are none of its business", func(t *testing.T) {
		t.Parallel()
		misdirected := unpack(t, filtered(t, "https", ir.ExternalAuth{Backend: "first"}).GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig(), &routev3.Route{})
		off := unpack(t, misdirected.GetTypedPerFilterConfig()[filter.BeforeRouting(0)], &routev3.FilterConfig{})
		if misdirected.GetDirectResponse().GetStatus() != 421 || !off.GetDisabled() {
			t.Errorf("route: %v", misdirected)
		}
	})
}
