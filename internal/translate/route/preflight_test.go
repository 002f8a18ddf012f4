package route_test

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

func TestPreflightsAreNotAskedAboutBeforeRouting(t *testing.T) {
	t.Parallel()
	rule := to("r", path(ir.Prefix, "/"))
	rule.Policy.CORS = &ir.CORS{Origins: []ir.StringMatch{{Value: "https://a.example"}}}
	vh, invalid := route.VirtualHost(
		ir.VirtualHost{Domain: "a.example", Filters: []ir.ListenerFilter{{Auth: &ir.ExternalAuth{Backend: svc("auth")}}}, Rules: []ir.Rule{rule}},
	)
	prototest.Valid(t, vh)
	if len(invalid) > 0 {
		t.Fatal(invalid)
	}
	vh = &routev3.VirtualHost{Routes: kept(t, vh)}
	preflight := pick(
		vh,
		request{
			method:  "OPTIONS",
			target:  "/",
			headers: map[string]string{"origin": "https://a.example", "access-control-request-method": "PUT"},
		},
	)
	if got := answer(preflight); got != route.UnresolvedBackend {
		t.Errorf("a preflight may reach %s", got)
	}
	if preflight.GetTypedPerFilterConfig()[filter.CORS] == nil {
		t.Error("the filter for CORS does not answer")
	}
	settings := unpack(t, preflight.GetTypedPerFilterConfig()[filter.BeforeRouting(0)], &compositev3.CompositePerRoute{})
	if settings.GetMatcher().GetOnNoMatch() != nil || settings.GetMatcher().GetMatcherTree() == nil {
		t.Errorf("it is asked about: %v", settings)
	}
	for _, run := range settings.GetMatcher().GetMatcherTree().GetExactMatchMap().GetMap() {
		action := unpack(t, run.GetAction().GetTypedConfig(), &compositev3.ExecuteFilterAction{})
		unpack(t, action.GetTypedConfig().GetTypedConfig(), &headermutationv3.HeaderMutation{})
	}
	for _, r := range []request{{method: "OPTIONS", target: "/"}, {
		method: "PUT", target: "/",
		headers: map[string]string{"origin": "https://a.example"},
	}} {
		if got := pick(vh, r); answer(got) != "r" || got.GetTypedPerFilterConfig()[filter.BeforeRouting(0)] != nil {
			t.Errorf("%s: %v", r.method, got)
		}
	}
}

func TestHostsOfGRPCTakeGRPCWeb(t *testing.T) {
	t.Parallel()
	vh, _ := route.VirtualHost(ir.VirtualHost{Domain: "a.example", Rules: []ir.Rule{to("g", ir.Match{GRPC: true})}})
	prototest.Valid(t, vh)
	settings := unpack(t, vh.GetTypedPerFilterConfig()[filter.GRPCWeb], &compositev3.CompositePerRoute{})
	action := unpack(t, settings.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig(), &compositev3.ExecuteFilterAction{})
	if action.GetTypedConfig().GetName() != "envoy.filters.http.grpc_web" {
		t.Errorf("runs %v", action)
	}
	vh, _ = route.VirtualHost(ir.VirtualHost{Domain: "a.example", Rules: []ir.Rule{to("h", path(ir.Prefix, "/"))}})
	if vh.GetTypedPerFilterConfig()[filter.GRPCWeb] != nil {
		t.Error("a host without gRPC takes gRPC-Web")
	}
}
