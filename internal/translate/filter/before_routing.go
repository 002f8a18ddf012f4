package filter

import (
	"slices"
	"strconv"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
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
			f := filterOfListener(&host.Filters[place])
			if place == 0 {
				// Behind the first, a header may come from a server.
				return runsAll(asks(f, authServers(host.Filters)...)), true
			}
			return runs(f.name, f.config), true
		},
		Route: func(host *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
			if !rule.Match.Preflight || Unchecked(host) {
				return nil, false
			}
			return runsNothing, true
		},
	}
}}

// Unchecked says that the requests of a host cannot pass the filters that its listener wants. Then nothing may pass.
func Unchecked(host *ir.VirtualHost) bool {
	return slices.ContainsFunc(host.Filters, func(f ir.ListenerFilter) bool { return f.Backend().IsZero() })
}

// filterOfListener is a filter of a listener that can be served.
func filterOfListener(f *ir.ListenerFilter) run {
	if f.ExtProc != nil {
		return run{extProcName, extProcBeforeRouting(f.ExtProc)}
	}
	return run{extAuthzName, authBeforeRouting(f.Auth)}
}

func authServers(filters []ir.ListenerFilter) []ir.ExternalAuth {
	var servers []ir.ExternalAuth
	for _, f := range filters {
		if f.Auth != nil {
			servers = append(servers, *f.Auth)
		}
	}
	return servers
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

// noMethod is a method that HTTP allows and nothing uses.
const noMethod = "-"

// runsNothing is the per-route configuration of a composite filter that runs none, or for that method one that edits no header. To disable
// the composite filter is not enough: a request whose host is found late has it already.
var runsNothing = &compositev3.CompositePerRoute{Matcher: &xdsmatcherv3.Matcher{
	MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
		Input: wire.Extension("method", &matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":method"}),
		TreeType: &xdsmatcherv3.Matcher_MatcherTree_ExactMatchMap{ExactMatchMap: &xdsmatcherv3.Matcher_MatcherTree_MatchMap{
			Map: map[string]*xdsmatcherv3.Matcher_OnMatch{noMethod: executes([]run{{HideEnvoy, &headermutationv3.HeaderMutation{}}})},
		}},
	}},
}}

// WithoutFilters is the typed_per_filter_config of a route that takes no part in the filters of the host and its listener, nil for none.
func WithoutFilters(host *ir.VirtualHost) map[string]*anypb.Any {
	var configs map[string]*anypb.Any
	for f := range ordered(len(host.Filters)) {
		if f.VirtualHost == nil {
			continue
		}
		if _, ok := f.VirtualHost(host); ok {
			if configs == nil {
				configs = map[string]*anypb.Any{}
			}
			configs[f.Name] = disabled
		}
	}
	return configs
}
