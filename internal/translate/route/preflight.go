package route

import (
	"slices"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

// withPreflights gives rules with CORS a rule of its own for preflights, where a host has requests pass filters before routing. Browsers
// send no credentials with a preflight, so no authorization server can let it pass, and it reaches nothing but the filter that answers it.
func withPreflights(host *ir.VirtualHost) []ir.Rule {
	if len(host.Filters) == 0 {
		return host.Rules
	}
	var rules []ir.Rule
	for _, rule := range host.Rules {
		m := rule.Match
		if rule.CORS != nil && rule.Forward != nil && !m.Preflight && (m.Method == "" || m.Method == ir.MethodOptions) {
			m.Method = ""
			rules = append(rules, ir.Rule{
				Name: rule.Name, Match: m.OfPreflight(), CORS: rule.CORS, ResponseHeaders: rule.ResponseHeaders, Origins: rule.Origins,
				Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Weight: 1}}},
			})
		}
		rules = append(rules, rule)
	}
	return slices.Clip(rules)
}

// noMethod is the method of no request.
const noMethod = "-"

// passFilters has the requests of a route pass no filter before routing. To switch the filters off is not enough: a request whose host is
// found late has them already.
func passFilters(r *routev3.Route, filters []ir.ExternalAuth) {
	for place := range filters {
		if filters[place].Backend == "" {
			// Then nothing passes at all.
			continue
		}
		run := running(extAuthz(&filters[place])).GetMatcher().GetOnNoMatch()
		configure(r, filter.BeforeRouting(place), &compositev3.CompositePerRoute{Matcher: &xdsmatcherv3.Matcher{
			MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
				Input: extension("method", &matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":method"}),
				TreeType: &xdsmatcherv3.Matcher_MatcherTree_ExactMatchMap{ExactMatchMap: &xdsmatcherv3.Matcher_MatcherTree_MatchMap{
					Map: map[string]*xdsmatcherv3.Matcher_OnMatch{noMethod: run},
				}},
			}},
		}})
	}
}
