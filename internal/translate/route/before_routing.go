package route

import (
	"slices"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

// beforeRouting has every request of a virtual host pass filters before its route counts. Envoy looks for a route at once, finds with it
// the virtual host and so the filters, and looks again when they have changed something. So there is a route for every request, if only
// to be answered 404. Without somebody to ask, nothing passes.
func beforeRouting(vh *routev3.VirtualHost, filters []ir.ExternalAuth, routes []*routev3.Route) []*routev3.Route {
	if len(filters) == 0 {
		return routes
	}
	if slices.ContainsFunc(filters, func(f ir.ExternalAuth) bool { return f.Backend == "" }) {
		unchecked := &routev3.Route{Name: "unchecked", Match: plainPrefix("/")}
		fail(unchecked, internalServerError)
		return []*routev3.Route{unchecked}
	}
	for place := range filters {
		config := extAuthz(&filters[place])
		config.ClearRouteCache = true
		config.DecoderHeaderMutationRules = &mutationv3.HeaderMutationRules{
			AllowAllRouting: wrapperspb.Bool(true),
			// GEP-5224: the host has chosen the listener, and must not change any more.
			DisallowExpression: &matcherv3.RegexMatcher{Regex: "(?i)host|:authority|:scheme|" + filter.OwnHeaders},
		}
		vh.TypedPerFilterConfig = configured(vh.TypedPerFilterConfig, filter.BeforeRouting(place), running(config))
	}
	unmatched := &routev3.Route{Name: "unmatched", Match: plainPrefix("/")}
	fail(unmatched, notFound)
	return append(routes, unmatched)
}

// spareFilters takes a route out of what its virtual host has all others pass.
func spareFilters(r *routev3.Route, filters []ir.ExternalAuth) {
	for place := range filters {
		configure(r, filter.BeforeRouting(place), &routev3.FilterConfig{Disabled: true})
	}
}
