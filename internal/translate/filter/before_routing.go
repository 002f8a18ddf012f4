package filter

import (
	"slices"
	"strconv"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// BeforeRouting is the name of the filter at one place, from 0, before a route is chosen for good. It runs the filter that a virtual host
// brings along for that place, and does nothing for one without. There is one for each, because a chain inside a single one goes no
// further once a filter of it has waited for an answer.
func BeforeRouting(place int) string { return "gatewright.before_routing." + strconv.Itoa(place) }

// beforeRouting runs the filters of listeners. No route table disables it: only connection managers have it that have use for it.
var beforeRouting = Filter{At: func(place int) Filter {
	return Filter{
		Name:     BeforeRouting(place),
		Listener: everywhere(&compositev3.Composite{}),
		VirtualHost: func(host *ir.VirtualHost) (proto.Message, bool) {
			if Unchecked(host) {
				return nil, false
			}
			return runs(extAuthzName, authBeforeRouting(&host.Filters[place])), true
		},
		Route: func(host *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
			if !rule.Match.Preflight || host.Filters[place].Backend == "" {
				return nil, false
			}
			return runsNever(extAuthzName, extAuthz(&host.Filters[place])), true
		},
	}
}}

// Unchecked says that the requests of a host can not be asked about as its listener wants. Then nothing may pass.
func Unchecked(host *ir.VirtualHost) bool {
	return slices.ContainsFunc(host.Filters, func(f ir.ExternalAuth) bool { return f.Backend == "" })
}

// authBeforeRouting may change which route a request takes.
func authBeforeRouting(a *ir.ExternalAuth) proto.Message {
	config := extAuthz(a)
	config.ClearRouteCache = true
	config.DecoderHeaderMutationRules = &mutationv3.HeaderMutationRules{
		AllowAllRouting: wrapperspb.Bool(true),
		// GEP-5224: the host has chosen the listener, and must not change any more.
		DisallowExpression: &matcherv3.RegexMatcher{Regex: "(?i)host|:authority|:scheme|" + OwnHeaders},
	}
	return config
}

// noMethod is the method of no request.
const noMethod = "-"

// runsNever is the per-route configuration of a composite filter that runs another for no request. To disable the filter is not enough: a
// request whose host is found late has it already.
func runsNever(name string, config proto.Message) *compositev3.CompositePerRoute {
	run := runs(name, config).GetMatcher().GetOnNoMatch()
	return &compositev3.CompositePerRoute{Matcher: &xdsmatcherv3.Matcher{
		MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
			Input: wire.Extension("method", &matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":method"}),
			TreeType: &xdsmatcherv3.Matcher_MatcherTree_ExactMatchMap{ExactMatchMap: &xdsmatcherv3.Matcher_MatcherTree_MatchMap{
				Map: map[string]*xdsmatcherv3.Matcher_OnMatch{noMethod: run},
			}},
		}},
	}}
}

// WithoutFilters is the typed_per_filter_config of a route that takes no part in the filters of the host's listener, nil for none.
func WithoutFilters(host *ir.VirtualHost) map[string]*anypb.Any {
	var configs map[string]*anypb.Any
	for place := range host.Filters {
		if configs == nil {
			configs = map[string]*anypb.Any{}
		}
		configs[BeforeRouting(place)] = disabled
	}
	return configs
}
