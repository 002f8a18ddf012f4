package filter

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
)

// EnvoyHeaders is how the names of headers begin in which Envoys tell each other about a request.
const EnvoyHeaders = "x-envoy-"

// HideEnvoy removes from answers what only Envoys tell each other, whether this proxy, a backend or a sidecar of the backend wrote it.
// Every answer passes it last. The router's suppress_envoy_headers is no substitute: it leaves what backends write, and takes the path
// that the client asked for from access logs and spans where a route rewrites it.
const HideEnvoy = "envoy.filters.http.header_mutation"

var hideEnvoy = Filter{
	Name: HideEnvoy,
	Listener: everywhere(&headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
		ResponseMutations: []*mutationv3.HeaderMutation{{
			Action: &mutationv3.HeaderMutation_RemoveOnMatch_{RemoveOnMatch: &mutationv3.HeaderMutation_RemoveOnMatch{
				KeyMatcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: EnvoyHeaders}},
			}},
		}},
	}}),
}
