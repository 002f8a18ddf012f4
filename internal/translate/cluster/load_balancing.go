package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	utilizationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/common/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	overridev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	randomv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const balancers = "envoy.load_balancing_policies."

// loadBalancing chooses endpoints. What a request is hashed by is a part of it, so that no route depends on it.
func loadBalancing(b *ir.LoadBalancer) *clusterv3.LoadBalancingPolicy {
	policy := balancer(b)
	if len(b.OverrideHeaders) == 0 {
		return policy
	}
	override := &overridev3.OverrideHost{FallbackPolicy: policy}
	for _, name := range b.OverrideHeaders {
		override.OverrideHostSources = append(override.OverrideHostSources, &overridev3.OverrideHost_OverrideHostSource{Header: name})
	}
	return balancing("override_host", override)
}

// picked chooses the endpoints that a picker names, in their order: another with each attempt of a request. What is no endpoint of the
// cluster is left out. Where none is left, load is balanced if the pool fails open. The endpoint that was chosen is noted for the picker.
func picked(p *ir.EndpointPicker, s *ir.DestinationSettings) *clusterv3.LoadBalancingPolicy {
	b, fallback := &ir.LoadBalancer{}, noEndpoint()
	if p.FailOpen {
		if s != nil && s.LoadBalancer != nil {
			b = s.LoadBalancer
		}
		fallback = balancer(b)
	}
	override := &overridev3.OverrideHost{
		OverrideHostSources: []*overridev3.OverrideHost_OverrideHostSource{
			{Header: ir.DestinationEndpoint}, {Metadata: destinationKey(ir.DestinationEndpoint)},
		},
		SelectedHostKey: destinationKey(ir.DestinationEndpointServed), FallbackPolicy: fallback,
	}
	for _, name := range b.OverrideHeaders {
		override.OverrideHostSources = append(override.OverrideHostSources, &overridev3.OverrideHost_OverrideHostSource{Header: name})
	}
	return balancing("override_host", override)
}

// noEndpoint is a policy that never finds an endpoint, so that requests are answered 503: those of a subset, which needs a key of metadata
// that no endpoint has.
func noEndpoint() *clusterv3.LoadBalancingPolicy {
	return balancing("subset", &subsetv3.Subset{
		FallbackPolicy:  subsetv3.Subset_NO_FALLBACK,
		SubsetSelectors: []*subsetv3.Subset_LbSubsetSelector{{Keys: []string{"gatewright.none"}}},
		SubsetLbPolicy:  balancing("random", &randomv3.Random{}),
	})
}

func destinationKey(name string) *metadatav3.MetadataKey {
	return &metadatav3.MetadataKey{Key: ir.DestinationMetadata, Path: []*metadatav3.MetadataKey_PathSegment{
		{Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: name}},
	}}
}

func balancer(b *ir.LoadBalancer) *clusterv3.LoadBalancingPolicy {
	switch b.Type {
	case ir.BalanceRandom:
		return balancing("random", &randomv3.Random{})
	case ir.BalanceRoundRobin:
		return balancing("round_robin", &roundrobinv3.RoundRobin{SlowStartConfig: slowStart(b)})
	case ir.BalanceHash:
		return balancing("maglev", maglev(b.Hash))
	case ir.BalanceUtilization:
		return balancing("client_side_weighted_round_robin", utilization(b))
	default:
		return balancing("least_request", &leastv3.LeastRequest{SlowStartConfig: slowStart(b)})
	}
}

func balancing(name string, config proto.Message) *clusterv3.LoadBalancingPolicy {
	return &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
		TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: balancers + name, TypedConfig: wire.Any(config)},
	}}}
}

func slowStart(b *ir.LoadBalancer) *commonv3.SlowStartConfig {
	if b.SlowStart == 0 {
		return nil
	}
	return &commonv3.SlowStartConfig{SlowStartWindow: durationpb.New(b.SlowStart)}
}

func maglev(h *ir.HashPolicy) *maglevv3.Maglev {
	config := &maglevv3.Maglev{}
	if h == nil {
		return config
	}
	if h.TableSize > 0 {
		config.TableSize = wrapperspb.UInt64(h.TableSize)
	}
	if policies := hashPolicies(h); len(policies) > 0 {
		config.ConsistentHashingLbConfig = &commonv3.ConsistentHashingLbConfig{HashPolicy: policies}
	}
	return config
}

func hashPolicies(h *ir.HashPolicy) []*routev3.RouteAction_HashPolicy {
	var list []*routev3.RouteAction_HashPolicy
	if h.SourceIP {
		list = append(list, &routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_ConnectionProperties_{
			ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true},
		}})
	}
	for _, name := range h.Headers {
		list = append(list, &routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{
			Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: name},
		}})
	}
	for _, name := range h.Query {
		list = append(list, &routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_QueryParameter_{
			QueryParameter: &routev3.RouteAction_HashPolicy_QueryParameter{Name: name},
		}})
	}
	if c := h.Cookie; c != nil {
		cookie := &routev3.RouteAction_HashPolicy_Cookie{Name: c.Name}
		if c.TTL != nil {
			cookie.Ttl, cookie.Path = durationpb.New(*c.TTL), "/"
		}
		for _, a := range c.Attributes {
			cookie.Attributes = append(cookie.Attributes, &routev3.RouteAction_HashPolicy_CookieAttribute{Name: a.Name, Value: a.Value})
		}
		list = append(list, &routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_Cookie_{Cookie: cookie}})
	}
	return list
}

func utilization(b *ir.LoadBalancer) *utilizationv3.ClientSideWeightedRoundRobin {
	u := b.Utilization
	if u == nil {
		u = &ir.Utilization{}
	}
	config := &utilizationv3.ClientSideWeightedRoundRobin{MetricNamesForComputingUtilization: u.Metrics, SlowStartConfig: slowStart(b)}
	if u.Blackout != nil {
		config.BlackoutPeriod = durationpb.New(*u.Blackout)
	}
	if u.Expiration != nil {
		config.WeightExpirationPeriod = durationpb.New(*u.Expiration)
	}
	if u.Update != nil {
		config.WeightUpdatePeriod = durationpb.New(*u.Update)
	}
	if u.Penalty != nil {
		config.ErrorUtilizationPenalty = wrapperspb.Float(*u.Penalty)
	}
	if o := u.OutOfBand; o != nil {
		config.EnableOobLoadReport, config.OobReportingPeriod = wrapperspb.Bool(true), durationpb.New(o.Period)
		config.OobReportingConfig = &commonv3.OrcaOobReportingConfig{PortValue: o.Port, Authority: o.Authority}
	}
	return config
}
