package filter

import (
	"time"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// ExternalAuth runs the authorization filter that a route brings along, and does nothing for a route without one. The filter itself has
// settings that Envoy takes from no route.
const ExternalAuth = "envoy.filters.http.composite"

var externalAuth = Filter{
	Name: ExternalAuth, OnDemand: true,
	Listener: everywhere(&compositev3.Composite{}),
	Route: func(_ *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
		if rule.Auth == nil {
			return nil, false
		}
		return runs(extAuthzName, extAuthz(rule.Auth)), true
	},
}

const (
	extAuthzName = "envoy.filters.http.ext_authz"
	// authTimeout bounds one question. The standard has no field for it.
	authTimeout = 10 * time.Second
)

// notCopied are headers of an answer by HTTP that mean that answer alone. Copied to the request they would break it, or send it elsewhere.
var notCopied = []string{
	"connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

func extAuthz(a *ir.ExternalAuth) *extauthzv3.ExtAuthz {
	config := &extauthzv3.ExtAuthz{
		TransportApiVersion: corev3.ApiVersion_V3, AllowedHeaders: anyOf(a.RequestHeaders),
		// No answer from the server is an outage and not a refusal. The request is stopped either way.
		StatusOnError: &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable},
		DecoderHeaderMutationRules: &mutationv3.HeaderMutationRules{
			AllowAllRouting: wrapperspb.Bool(true), AllowEnvoy: wrapperspb.Bool(true),
			DisallowExpression: &matcherv3.RegexMatcher{Regex: "(?i)" + OwnHeaders},
		},
	}
	if a.MaxBody > 0 {
		// A larger body is refused with 413: a backend that sees a part of it can not judge the whole.
		config.WithRequestBody = &extauthzv3.BufferSettings{MaxRequestBytes: a.MaxBody, PackAsBytes: a.GRPC}
	}
	if a.GRPC {
		config.Services = &extauthzv3.ExtAuthz_GrpcService{GrpcService: &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: a.Backend}},
			Timeout:         durationpb.New(authTimeout),
		}}
		return config
	}
	copied := anyOf(a.ResponseHeaders)
	if copied == nil {
		copied = &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
			SafeRegex: &matcherv3.RegexMatcher{Regex: headerExcept(notCopied)},
		}}}}
	}
	config.Services = &extauthzv3.ExtAuthz_HttpService{HttpService: &extauthzv3.HttpService{
		ServerUri: &corev3.HttpUri{
			// The request keeps its own host; this one is for Envoy to have something to parse.
			Uri:              "http://authorization.invalid",
			HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: a.Backend},
			Timeout:          durationpb.New(authTimeout),
		},
		PathPrefix:            a.PathPrefix,
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
