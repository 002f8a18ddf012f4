package filter

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// AddAuthContext adds the values that the authorization server of a route sees beside each request. Envoy takes them of no filter, only of
// per-route configuration by the name of the filter. There is the configuration already that runs the filter, and of that the most specific
// counts. So that one moves to the weighted clusters of the route, and leaves its place to the values, which Envoy collects of all levels.
func AddAuthContext(r *routev3.Route, policy *ir.RequestPolicy) {
	if !policy.AsksWithContext() {
		return
	}
	values := make(map[string]string, len(policy.Auth.Context))
	for _, c := range policy.Auth.Context {
		values[c.Name] = string(c.Value)
	}
	context := wire.Any(&extauthzv3.ExtAuthzPerRoute{Override: &extauthzv3.ExtAuthzPerRoute_CheckSettings{
		CheckSettings: &extauthzv3.CheckSettings{ContextExtensions: values},
	}})
	for name, asked := range map[string][]run{ExternalAuth: askAuth(policy), AuthBeforeRouting: askAuthBeforeRouting(policy)} {
		if len(asked) == 0 {
			continue
		}
		r.TypedPerFilterConfig = with(r.TypedPerFilterConfig, name, context)
		ask := wire.Any(runsAll(asked))
		for _, share := range r.GetRoute().GetWeightedClusters().GetClusters() {
			share.TypedPerFilterConfig = with(share.TypedPerFilterConfig, name, ask)
		}
	}
}
