package listener

import (
	typesv3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	udpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	networkv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/network/v3"
	hashingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/input_matchers/consistent_hashing/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const udpProxyName = "envoy.filters.udp_listener.udp_proxy"

// datagrams makes a listener pass on datagrams. The first one of a client's address and port chooses the backend and the endpoint for
// all of them, until the session has been idle for a minute. Envoy reads datagrams with a listener filter, so there is no filter chain.
func datagrams(l *listenerv3.Listener, port ir.Port) {
	l.PerConnectionBufferLimitBytes = nil
	l.UdpListenerConfig = &listenerv3.UdpListenerConfig{}
	for _, chain := range port.Chains {
		l.ListenerFilters = append(l.ListenerFilters, &listenerv3.ListenerFilter{
			Name: udpProxyName,
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: wire.Any(&udpv3.UdpProxyConfig{
				StatPrefix:     statPrefix(port),
				AccessLog:      streamLogs(port, chain.Stream.Route),
				RouteSpecifier: &udpv3.UdpProxyConfig_Matcher{Matcher: byShare(chain.Stream)},
			})},
		})
	}
}

// byShare divides the sessions by weight. Envoy has no draw for datagrams, so a hash of the client's port takes its place: the
// numbers below the sum of all weights are divided among the backends, from the highest down. What falls to a backend that cannot be
// resolved is sent nowhere, and so dropped.
func byShare(stream *ir.Stream) *matcherv3.Matcher {
	backends := shares(stream)
	total := uint32(0)
	for _, b := range backends {
		total += b.Weight
	}
	switch len(backends) {
	case 0:
		return &matcherv3.Matcher{OnNoMatch: to(wire.UnresolvedBackend)}
	case 1:
		return &matcherv3.Matcher{OnNoMatch: to(clusterName(backends[0]))}
	}
	list := &matcherv3.Matcher_MatcherList{}
	from := total
	for _, b := range backends {
		from -= b.Weight
		list.Matchers = append(list.Matchers, &matcherv3.Matcher_MatcherList_FieldMatcher{
			Predicate: clientHashFrom(from, total),
			OnMatch:   to(clusterName(b)),
		})
	}
	return &matcherv3.Matcher{MatcherType: &matcherv3.Matcher_MatcherList_{MatcherList: list}}
}

// clientHashFrom matches when the hash of the client's port, below modulo, is from or more.
func clientHashFrom(from, modulo uint32) *matcherv3.Matcher_MatcherList_Predicate {
	return &matcherv3.Matcher_MatcherList_Predicate{MatchType: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
		SinglePredicate: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
			Input: extension("envoy.matching.inputs.source_port", &networkv3.SourcePortInput{}),
			Matcher: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_CustomMatch{
				CustomMatch: extension("envoy.matching.matchers.consistent_hashing", &hashingv3.ConsistentHashing{Threshold: from, Modulo: modulo}),
			},
		},
	}}
}

func to(cluster string) *matcherv3.Matcher_OnMatch {
	return &matcherv3.Matcher_OnMatch{OnMatch: &matcherv3.Matcher_OnMatch_Action{Action: extension("route", &udpv3.Route{Cluster: cluster})}}
}

func extension(name string, config proto.Message) *typesv3.TypedExtensionConfig {
	return &typesv3.TypedExtensionConfig{Name: name, TypedConfig: wire.Any(config)}
}
