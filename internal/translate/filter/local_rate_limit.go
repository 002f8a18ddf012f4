package filter

import (
	"fmt"
	"math"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	localv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// LocalRateLimit bounds how many requests pass the proxy, and does nothing for a route without a policy for it.
const LocalRateLimit = "envoy.filters.http.local_ratelimit"

const rateLimitStats = "http_local_rate_limiter"

var localRateLimit = byPolicy(Filter{
	Name: LocalRateLimit, OnDemand: true, Listener: everywhere(&localv3.LocalRateLimit{StatPrefix: rateLimitStats}),
}, func(p *ir.RequestPolicy) (proto.Message, bool) {
	if p.RateLimit == nil {
		return nil, false
	}
	return rateLimit(p.RateLimit), true
})

func rateLimit(l *ir.LocalRateLimit) *localv3.LocalRateLimit {
	always := &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{Numerator: 100}}
	config := &localv3.LocalRateLimit{
		StatPrefix: rateLimitStats, FilterEnabled: always, FilterEnforced: always,
		// Requests that no rule is about.
		TokenBucket: bucket(math.MaxUint32, time.Second),
		// A request that a rule is about does not count for the others.
		AlwaysConsumeDefaultTokenBucket: wrapperspb.Bool(false),
		MaxDynamicDescriptors:           wrapperspb.UInt32(distinctValues),
		RateLimitedAsResourceExhausted:  true,
	}
	for i, rule := range l.Rules {
		if len(rule.Matches) == 0 {
			config.TokenBucket = bucket(rule.Requests, rule.Unit)
			if rule.Headers {
				config.EnableXRatelimitHeaders = ratelimitv3.XRateLimitHeadersRFCVersion_DRAFT_VERSION_03
			}
			continue
		}
		list := conditions(fmt.Sprintf("rule-%d-", i), rule.Matches)
		descriptor := &ratelimitv3.LocalRateLimitDescriptor{TokenBucket: bucket(rule.Requests, rule.Unit), ShadowMode: rule.Shadow}
		for _, d := range list {
			descriptor.Entries = append(descriptor.Entries, &ratelimitv3.RateLimitDescriptor_Entry{Key: d.key, Value: d.value})
		}
		config.Descriptors = append(config.Descriptors, descriptor)
		config.RateLimits = append(config.RateLimits, &routev3.RateLimit{
			Actions: actionsOf(list), HitsAddend: hits(rule.Cost), XRatelimitOption: headersOf(rule.Headers),
		})
	}
	return config
}

// distinctValues is for how many values of a header a proxy counts at a time. The least recently used is forgotten.
const distinctValues = 10_000

func bucket(tokens uint32, unit time.Duration) *typev3.TokenBucket {
	return &typev3.TokenBucket{MaxTokens: tokens, TokensPerFill: wrapperspb.UInt32(tokens), FillInterval: durationpb.New(unit)}
}
