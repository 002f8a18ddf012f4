package filter

import (
	"cmp"
	"slices"
	"strings"
	"time"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// ExternalAuth runs the authorization filter that a route brings along, and does nothing for a route without one. The filter itself has
// settings that Envoy takes from no route.
const ExternalAuth = "envoy.filters.http.composite"

var externalAuth = runsOnce(ExternalAuth, askAuth)

func askAuth(policy *ir.RequestPolicy) []run {
	if policy.Auth == nil || policy.Auth.Guard == ir.Off {
		return nil
	}
	return asks(run{extAuthzName, extAuthz(policy.Auth)}, *policy.Auth)
}

// AuthBeforeRouting asks the server of routes whose server may send a request to another route, and chooses the route again.
const AuthBeforeRouting = "gatewright.ext_auth_before_routing"

var extAuthBeforeRouting = runsOnce(AuthBeforeRouting, askAuthBeforeRouting)

func askAuthBeforeRouting(policy *ir.RequestPolicy) []run {
	if policy.Auth == nil || policy.Auth.Guard == ir.Off || !policy.Auth.Reroute {
		return nil
	}
	return asks(run{extAuthzName, authBeforeRouting(policy.Auth)}, *policy.Auth)
}

// RouteMetadata is the namespace of the metadata of a route that names it.
const RouteMetadata = "gatewright"

const (
	extAuthzName       = "envoy.filters.http.ext_authz"
	serviceUnavailable = 503
	// authTimeout bounds one question. The standard has no field for it.
	authTimeout = 10 * time.Second
)

// notCopied are headers of an answer by HTTP that mean that answer alone. Copied to the request they would break it, or send it elsewhere.
var notCopied = slices.Sorted(slices.Values(append([]string{"host"}, ir.ConnectionHeaders...)))

// asks removes what a client sends in headers that servers write, and asks the first server. A server need not write them.
func asks(ask run, servers ...ir.ExternalAuth) []run {
	mutations := &headermutationv3.Mutations{}
	for _, name := range written(servers) {
		mutations.RequestMutations = append(mutations.RequestMutations,
			&mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
	}
	if len(mutations.GetRequestMutations()) == 0 {
		return []run{ask}
	}
	return []run{{HideEnvoy, &headermutationv3.HeaderMutation{Mutations: mutations}}, ask}
}

// written are the headers that servers write by name, without those that the server or one before it sees as the client sends them.
func written(servers []ir.ExternalAuth) []string {
	seen := append([]string{"authorization"}, notCopied...)
	var names []string
	for i := range servers {
		seen = append(seen, servers[i].RequestHeaders...)
		for _, name := range servers[i].ResponseHeaders {
			if !slices.Contains(seen, name) && !ofProxies(name) {
				seen, names = append(seen, name), append(names, name)
			}
		}
	}
	return names
}

// ofProxies says whether a header has what the proxy itself wrote, or what a proxy that is trusted wrote about the connection, whatever the
// client sent there.
func ofProxies(name string) bool {
	switch name {
	case ir.ForwardedHeader, "x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port",
		"x-forwarded-client-cert":
		return true
	default:
		return strings.HasPrefix(name, ownHeaderPrefix) || strings.HasPrefix(name, ir.EnvoyHeaderPrefix)
	}
}

func extAuthz(a *ir.ExternalAuth) *extauthzv3.ExtAuthz {
	timeout := durationpb.New(cmp.Or(a.Timeout, authTimeout))
	config := &extauthzv3.ExtAuthz{
		TransportApiVersion: corev3.ApiVersion_V3, AllowedHeaders: anyOf(a.RequestHeaders),
		// No answer from the server is an outage and not a denial. The request is stopped either way, unless the user wants it to pass.
		StatusOnError:    &typev3.HttpStatus{Code: typev3.StatusCode(cmp.Or(a.StatusOnError, serviceUnavailable))}, //nolint:gosec // a status
		FailureModeAllow: a.FailOpen,
		DecoderHeaderMutationRules: &mutationv3.HeaderMutationRules{
			AllowAllRouting: wrapperspb.Bool(true), AllowEnvoy: wrapperspb.Bool(true),
			DisallowExpression: &matcherv3.RegexMatcher{Regex: "(?i)" + OwnHeaders},
		},
	}
	if a.MaxBody > 0 {
		// A larger body is refused with 413: a backend that sees a part of it cannot check the whole.
		config.WithRequestBody = &extauthzv3.BufferSettings{MaxRequestBytes: a.MaxBody, PackAsBytes: a.GRPC}
	}
	if a.RouteMetadata {
		config.RouteMetadataContextNamespaces = []string{RouteMetadata}
	}
	if a.GRPC {
		config.Services = &extauthzv3.ExtAuthz_GrpcService{GrpcService: &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: a.Backend.String()}},
			Timeout:         timeout,
		}}
		return config
	}
	copied := anyOf(a.ResponseHeaders)
	if copied == nil && !a.NoResponseHeaders {
		copied = &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
			SafeRegex: &matcherv3.RegexMatcher{Regex: headerExcept(notCopied)},
		}}}}
	}
	config.Services = &extauthzv3.ExtAuthz_HttpService{HttpService: &extauthzv3.HttpService{
		ServerUri: &corev3.HttpUri{
			// The request keeps its own host; this one is for Envoy to have something to parse.
			Uri:              "http://authorization.invalid",
			HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: a.Backend.String()},
			Timeout:          timeout,
		},
		PathPrefix:            a.PathPrefix,
		PathOverride:          a.PathOverride,
		AuthorizationResponse: &extauthzv3.AuthorizationResponse{AllowedUpstreamHeaders: copied},
	}}
	return config
}

// anyOf matches any of the names, and is nil when there are none.
func anyOf(names []string) *matcherv3.ListStringMatcher {
	if len(names) == 0 {
		return nil
	}
	list := &matcherv3.ListStringMatcher{}
	for _, name := range names {
		list.Patterns = append(list.Patterns, &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name}, IgnoreCase: true,
		})
	}
	return list
}
