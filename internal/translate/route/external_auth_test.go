package route_test

import (
	"testing"
	"time"

	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func unpack[M proto.Message](t *testing.T, packed *anypb.Any, into M) M {
	t.Helper()
	if err := packed.UnmarshalTo(into); err != nil {
		t.Fatal(err)
	}
	prototest.Valid(t, into)
	return into
}

// authOf is the authorization filter that a route brings along.
func authOf(t *testing.T, auth *ir.ExternalAuth) *extauthzv3.ExtAuthz {
	t.Helper()
	config, _ := authAndRemoved(t, auth)
	return config
}

// authAndRemoved is the authorization filter that a route brings along, and the headers that are removed before it.
func authAndRemoved(t *testing.T, auth *ir.ExternalAuth) (config *extauthzv3.ExtAuthz, removed []string) {
	t.Helper()
	r := only(
		t,
		ir.Rule{Policy: &ir.RequestPolicy{Auth: auth}, Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: svc("a"), Weight: 1}}}},
	)
	perRoute := unpack(t, r.GetTypedPerFilterConfig()[filter.ExternalAuth], &compositev3.CompositePerRoute{})
	action := unpack(t, perRoute.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig(), &compositev3.ExecuteFilterAction{})
	chain := action.GetFilterChain().GetTypedConfig()
	if len(chain) == 0 {
		return unpack(t, action.GetTypedConfig().GetTypedConfig(), &extauthzv3.ExtAuthz{}), nil
	}
	for _, m := range unpack(t, chain[0].GetTypedConfig(), &headermutationv3.HeaderMutation{}).GetMutations().GetRequestMutations() {
		removed = append(removed, m.GetRemove())
	}
	return unpack(t, chain[1].GetTypedConfig(), &extauthzv3.ExtAuthz{}), removed
}

func TestHeadersThatAServerWritesAreNotTheClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		auth ir.ExternalAuth
		want []string
	}{
		"those that it writes": {ir.ExternalAuth{ResponseHeaders: []string{"x-team", "x-user"}}, []string{"x-team", "x-user"}},
		"not those that it sees": {
			ir.ExternalAuth{RequestHeaders: []string{"x-team"}, ResponseHeaders: []string{"authorization", "host", "x-team"}}, nil,
		},
		"not those that proxies write": {
			ir.ExternalAuth{ResponseHeaders: []string{"forwarded", filter.HopsHeader, "x-envoy-a", "x-forwarded-for", "x-request-id"}}, nil,
		},
		"none where all are copied": {ir.ExternalAuth{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.auth.Backend = svc("auth")
			_, removed := authAndRemoved(t, &c.auth)
			if diff := cmp.Diff(c.want, removed); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoAnswerIsAnOutage(t *testing.T) {
	t.Parallel()
	for _, grpc := range []bool{false, true} {
		auth := authOf(t, &ir.ExternalAuth{Backend: svc("auth"), GRPC: grpc})
		if auth.GetStatusOnError().GetCode() != 503 || auth.GetFailureModeAllow() {
			t.Errorf("gRPC %t: without an answer of the server a request gets %v", grpc, auth.GetStatusOnError())
		}
	}
}

func names(list *matcherv3.ListStringMatcher) []string {
	var exact []string
	for _, p := range list.GetPatterns() {
		exact = append(exact, p.GetExact())
	}
	return exact
}

func TestExternalAuth(t *testing.T) {
	t.Parallel()
	t.Run("gRPC sees the headers that are allowed, and the body up to its limit", func(t *testing.T) {
		t.Parallel()
		config := authOf(t, &ir.ExternalAuth{Backend: svc("auth"), GRPC: true, RequestHeaders: []string{"cookie"}, MaxBody: 10})
		if got := short(config.GetGrpcService().GetEnvoyGrpc().GetClusterName()); got != "auth" {
			t.Errorf("asks %q", got)
		}
		if diff := cmp.Diff([]string{"cookie"}, names(config.GetAllowedHeaders())); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if body := config.GetWithRequestBody(); body.GetMaxRequestBytes() != 10 || body.GetAllowPartialMessage() {
			t.Errorf("body: %v", body)
		}
	})
	t.Run("gRPC sees every header when none is named", func(t *testing.T) {
		t.Parallel()
		config := authOf(t, &ir.ExternalAuth{Backend: svc("auth"), GRPC: true})
		if config.GetAllowedHeaders() != nil || config.GetWithRequestBody() != nil {
			t.Errorf("config: %v", config)
		}
	})
	t.Run("HTTP passes on the headers that are allowed", func(t *testing.T) {
		t.Parallel()
		config := authOf(t, &ir.ExternalAuth{Backend: svc("auth"), PathPrefix: "/check", ResponseHeaders: []string{"x-user"}})
		service := config.GetHttpService()
		if short(service.GetServerUri().GetCluster()) != "auth" || service.GetPathPrefix() != "/check" {
			t.Errorf("service: %v", service)
		}
		if diff := cmp.Diff([]string{"x-user"}, names(service.GetAuthorizationResponse().GetAllowedUpstreamHeaders())); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	})
	t.Run("nothing passes while the backend cannot be asked", func(t *testing.T) {
		t.Parallel()
		if authOf(t, &ir.ExternalAuth{Backend: svc("auth")}).GetFailureModeAllow() {
			t.Error("requests pass unchecked")
		}
	})
}

func TestSession(t *testing.T) {
	t.Parallel()
	sessionOf := func(t *testing.T, s *ir.Session) *statefulsessionv3.StatefulSession {
		t.Helper()
		r := only(t, ir.Rule{Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: svc("a"), Weight: 1, Session: s}}}})
		return unpack(t, r.GetTypedPerFilterConfig()[filter.Session], &statefulsessionv3.StatefulSessionPerRoute{}).GetStatefulSession()
	}
	t.Run("a cookie lives as long as it should", func(t *testing.T) {
		t.Parallel()
		state := sessionOf(t, &ir.Session{Cookie: "c", Path: "/", Lifetime: time.Hour}).GetSessionState()
		cookie := unpack(t, state.GetTypedConfig(), &cookiev3.CookieBasedSessionState{}).GetCookie()
		if cookie.GetName() != "c" || cookie.GetPath() != "/" || cookie.GetTtl().AsDuration() != time.Hour {
			t.Errorf("cookie: %v", cookie)
		}
	})
	t.Run("with several backends each has its own, behind the draw", func(t *testing.T) {
		t.Parallel()
		r := only(t, ir.Rule{Forward: &ir.Forward{Backends: []ir.WeightedBackend{
			{Backend: svc("a"), Weight: 1, Session: &ir.Session{Cookie: "a", Path: "/"}}, {Backend: svc("b"), Weight: 1},
		}}})
		clusters := r.GetRoute().GetWeightedClusters().GetClusters()
		if r.GetTypedPerFilterConfig()[filter.Session] != nil || clusters[0].GetTypedPerFilterConfig()[filter.Session] == nil ||
			clusters[1].GetTypedPerFilterConfig()[filter.Session] != nil {
			t.Errorf("route: %v", r)
		}
	})
	t.Run("a session outlives its endpoint", func(t *testing.T) {
		t.Parallel()
		if s := sessionOf(t, &ir.Session{Header: "x-s"}); s.GetStrict() {
			t.Errorf("session: %v", s)
		}
	})
}

// TestContextExtensionsAreBelowWhatAsks: Envoy runs the filter by the most specific configuration of its name, and collects values of all.
func TestContextExtensionsAreBelowWhatAsks(t *testing.T) {
	t.Parallel()
	policy := &ir.RequestPolicy{Auth: &ir.ExternalAuth{
		Backend: svc("auth"), GRPC: true, Reroute: true, Context: []ir.ContextValue{{Name: "tier", Value: "gold"}},
	}}
	r := only(t, ir.Rule{Policy: policy, Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: svc("a"), Weight: 1}}}})
	shares := r.GetRoute().GetWeightedClusters().GetClusters()
	if len(shares) != 1 {
		t.Fatalf("the route goes to %v", r.GetRoute())
	}
	for _, name := range []string{filter.ExternalAuth, filter.AuthBeforeRouting} {
		values := unpack(t, r.GetTypedPerFilterConfig()[name], &extauthzv3.ExtAuthzPerRoute{}).GetCheckSettings().GetContextExtensions()
		if diff := cmp.Diff(map[string]string{"tier": "gold"}, values); diff != "" {
			t.Errorf("%s: values (-want +got):\n%s", name, diff)
		}
		asks := unpack(t, shares[0].GetTypedPerFilterConfig()[name], &compositev3.CompositePerRoute{})
		if asks.GetMatcher().GetOnNoMatch() == nil {
			t.Errorf("%s does not ask", name)
		}
	}
}
