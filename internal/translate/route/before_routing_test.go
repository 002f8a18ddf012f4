package route_test

import (
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	networkinputv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/network/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

func filtered(t *testing.T, chain string, filters ...ir.ListenerFilter) *routev3.VirtualHost {
	t.Helper()
	vh, _ := route.VirtualHost(ir.VirtualHost{Domain: "a.example", Chain: chain, Filters: filters, Rules: []ir.Rule{{
		Name: "rule", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Exact, Value: "/x"}}, Fail: &ir.Fail{StatusCode: 418},
	}}})
	prototest.Valid(t, vh)
	return vh
}

// kept are the routes for connections that keep the places of the filters.
func kept(t *testing.T, vh *routev3.VirtualHost) []*routev3.Route {
	t.Helper()
	return listOf(t, vh.GetMatcher().GetMatcherTree().GetExactMatchMap().GetMap()[filter.PlaceKept]).GetRoutes()
}

func ask(a ir.ExternalAuth) ir.ListenerFilter { return ir.ListenerFilter{Auth: &a} }

// beforeRouting reads what the filter at a place runs.
func beforeRouting(t *testing.T, vh *routev3.VirtualHost, place int, into proto.Message) {
	t.Helper()
	settings := unpack(t, vh.GetTypedPerFilterConfig()[filter.BeforeRouting(place)], &compositev3.CompositePerRoute{})
	action := unpack(t, settings.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig(), &compositev3.ExecuteFilterAction{})
	unpack(t, action.GetTypedConfig().GetTypedConfig(), into)
}

func TestFiltersBeforeRouting(t *testing.T) {
	t.Parallel()
	t.Run("each has its place, and what it changes counts for the route", func(t *testing.T) {
		t.Parallel()
		vh := filtered(t, "", ask(ir.ExternalAuth{Backend: svc("first")}), ask(ir.ExternalAuth{Backend: svc("second"), GRPC: true}))
		for place, want := range []string{"first", "second"} {
			auth := &extauthzv3.ExtAuthz{}
			beforeRouting(t, vh, place, auth)
			asked := short(auth.GetHttpService().GetServerUri().GetCluster() + auth.GetGrpcService().GetEnvoyGrpc().GetClusterName())
			if asked != want || !auth.GetClearRouteCache() || auth.GetDecoderHeaderMutationRules().GetDisallowExpression() == nil {
				t.Errorf("place %d: %v", place, auth)
			}
		}
	})
	t.Run("every request finds a route, and so the filters", func(t *testing.T) {
		t.Parallel()
		routes := kept(t, filtered(t, "", ask(ir.ExternalAuth{Backend: svc("first")})))
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
	t.Run("nothing passes when one cannot be asked", func(t *testing.T) {
		t.Parallel()
		routes := filtered(t, "", ask(ir.ExternalAuth{Backend: svc("first")}), ir.ListenerFilter{}).GetRoutes()
		if len(routes) != 1 || routes[0].GetMatch().GetPrefix() != "/" || routes[0].GetDirectResponse().GetStatus() != 500 {
			t.Errorf("routes: %v", routes)
		}
	})
	t.Run("requests of another listener are none of its business", func(t *testing.T) {
		t.Parallel()
		misdirected := unpack(
			t,
			filtered(t, "https", ask(ir.ExternalAuth{Backend: svc("first")})).GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig(),
			&routev3.Route{},
		)
		off := unpack(t, misdirected.GetTypedPerFilterConfig()[filter.BeforeRouting(0)], &routev3.FilterConfig{})
		if misdirected.GetDirectResponse().GetStatus() != 421 || !off.GetDisabled() {
			t.Errorf("route: %v", misdirected)
		}
	})
}

func TestServersBeforeRouting(t *testing.T) {
	t.Parallel()
	t.Run("a server stands at its place among them, and the route is chosen again whenever it has changed headers", func(t *testing.T) {
		t.Parallel()
		server := &ir.ExtProc{Backend: svc("server"), Request: &ir.ExtProcMessage{Body: ir.BodyBuffered}, ModeOverride: true}
		vh := filtered(t, "", ask(ir.ExternalAuth{Backend: svc("first")}), ir.ListenerFilter{ExtProc: server})
		beforeRouting(t, vh, 0, &extauthzv3.ExtAuthz{})
		config := &extprocv3.ExternalProcessor{}
		beforeRouting(t, vh, 1, config)
		if asked := short(config.GetGrpcService().GetEnvoyGrpc().GetClusterName()); asked != "server" ||
			config.GetRouteCacheAction() != extprocv3.ExternalProcessor_CLEAR || config.GetMutationRules().GetDisallowExpression() == nil ||
			config.GetMutationRules().GetAllowAllRouting() != nil || config.GetFailureModeAllow() {
			t.Errorf("place 1: %v", config)
		}
		for _, mode := range config.GetAllowedOverrideModes() {
			if body := mode.GetRequestBodyMode(); body != extprocv3.ProcessingMode_NONE && body != extprocv3.ProcessingMode_BUFFERED {
				t.Errorf("a server may choose %v", mode)
			}
		}
		if len(config.GetAllowedOverrideModes()) == 0 {
			t.Error("a server may choose any mode")
		}
	})
	t.Run("a server whose answers do not count chooses no route", func(t *testing.T) {
		t.Parallel()
		config := &extprocv3.ExternalProcessor{}
		beforeRouting(t, filtered(t, "", ir.ListenerFilter{ExtProc: &ir.ExtProc{Backend: svc("server"), Shadow: true}}), 0, config)
		if !config.GetObservabilityMode() || config.GetRouteCacheAction() != extprocv3.ExternalProcessor_RETAIN {
			t.Errorf("config: %v", config)
		}
	})
}

func TestNothingPassesByAConnectionOlderThanItsFilters(t *testing.T) {
	t.Parallel()
	vh := filtered(t, "", ask(ir.ExternalAuth{Backend: svc("first")}), ask(ir.ExternalAuth{Backend: svc("second")}))
	input := unpack(t, vh.GetMatcher().GetMatcherTree().GetInput().GetTypedConfig(), &networkinputv3.FilterStateInput{})
	misdirected := unpack(t, vh.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig(), &routev3.Route{})
	if input.GetKey() != filter.BeforeRouting(1) || misdirected.GetDirectResponse().GetStatus() != 421 || len(vh.GetRoutes()) > 0 {
		t.Errorf("virtual host: %v", vh)
	}
}

func TestHeadersThatServersWriteAreRemovedBeforeTheFirst(t *testing.T) {
	t.Parallel()
	vh := filtered(t, "",
		ask(ir.ExternalAuth{Backend: svc("first"), ResponseHeaders: []string{"x-user"}}),
		ask(ir.ExternalAuth{Backend: svc("second"), ResponseHeaders: []string{"x-team", "x-user"}}))
	for place, want := range []string{"x-user x-team", ""} {
		settings := unpack(t, vh.GetTypedPerFilterConfig()[filter.BeforeRouting(place)], &compositev3.CompositePerRoute{})
		action := unpack(t, settings.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig(), &compositev3.ExecuteFilterAction{})
		var removed []string
		if chain := action.GetFilterChain().GetTypedConfig(); len(chain) > 0 {
			for _, m := range unpack(t, chain[0].GetTypedConfig(), &headermutationv3.HeaderMutation{}).GetMutations().GetRequestMutations() {
				removed = append(removed, m.GetRemove())
			}
		}
		if got := strings.Join(removed, " "); got != want {
			t.Errorf("place %d removes %q, want %q", place, got, want)
		}
	}
}
