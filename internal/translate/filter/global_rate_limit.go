package filter

import (
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/ratelimit/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	globalv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
)

// GlobalRateLimit asks the rate limit service about the requests of routes with global limits. Whether requests pass without an answer is a
// setting that Envoy takes from no route, so a composite filter runs the filter.
const GlobalRateLimit = "gatewright.global_rate_limit"

// RateLimitDomain is the domain of all limits in the rate limit service.
const RateLimitDomain = "gatewright"

const (
	globalRateLimitName = "envoy.filters.http.ratelimit"
	// rateLimitTimeout bounds one question.
	rateLimitTimeout = time.Second
)

// Limits are in each route, not in the virtual host: a route has limits of its own.
var globalRateLimit = Filter{
	Name: GlobalRateLimit, OnDemand: true, Listener: everywhere(composite),
	Route: func(host *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
		policy := host.PolicyOf(rule)
		if rule.Forward == nil || !policy.RateLimited() || policy.FailsClosed() {
			return nil, false
		}
		return runs(globalRateLimitName, globalLimits(policy.GlobalRateLimit, routeName(rule.Name))), true
	},
}

// routeName is `<kind>/<namespace>/<name>` in the name of a rule.
func routeName(rule string) string {
	const parts = 3
	all := strings.SplitN(rule, "/", parts+1)
	return strings.Join(all[:min(len(all), parts)], "/")
}

func globalLimits(l *ir.GlobalRateLimit, route string) *globalv3.RateLimit {
	config := &globalv3.RateLimit{
		Domain: RateLimitDomain, Timeout: durationpb.New(rateLimitTimeout), RateLimitedAsResourceExhausted: true,
		FailureModeDeny: !l.FailOpen,
		// No answer from the service is an outage and not an error of the backend.
		StatusOnError: &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable},
		RateLimitService: &ratelimitconfigv3.RateLimitServiceConfig{
			TransportApiVersion: corev3.ApiVersion_V3,
			GrpcService: &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
				EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: l.Backend.String()},
			}},
		},
	}
	for i := range l.Rules {
		config.RateLimits = append(config.RateLimits, globalRule(l, i, route)...)
	}
	return config
}

// globalRule is a rule for requests, and one for the end of responses if that costs something.
func globalRule(l *ir.GlobalRateLimit, i int, route string) []*routev3.RateLimit {
	rule := &l.Rules[i]
	actions := actionsOf(globalConditions(l, i, route))
	all := []*routev3.RateLimit{{
		Actions: actions, HitsAddend: hits(rule.Cost), XRatelimitOption: headersOf(rule.Headers),
	}}
	if rule.ResponseCost != nil {
		all = append(all, &routev3.RateLimit{
			Actions: actions, HitsAddend: hits(rule.ResponseCost), ApplyOnStreamDone: true, XRatelimitOption: routev3.RateLimit_OFF,
		})
	}
	return all
}

// globalConditions are those of a rule behind the name of the rule, and that of the route unless routes share the limit.
func globalConditions(l *ir.GlobalRateLimit, i int, route string) []described {
	all := []described{generic("rule", l.Policy.String()+"/"+l.Rules[i].ID)}
	if !l.Rules[i].Shared {
		all = append(all, generic("route", route))
	}
	return append(all, conditions("", l.Rules[i].Matches)...)
}

func generic(key, value string) described {
	return described{&routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_GenericKey_{
		GenericKey: &routev3.RateLimit_Action_GenericKey{DescriptorKey: key, DescriptorValue: value},
	}}, key, value}
}

// RateLimitEntry is a part of what proxies ask the rate limit service about. Without a value it stands for each value.
type RateLimitEntry struct{ Key, Value string }

// RateLimitEntries are what proxies ask about for a rule, whichever the route.
func RateLimitEntries(l *ir.GlobalRateLimit, i int) []RateLimitEntry {
	var entries []RateLimitEntry
	for _, d := range globalConditions(l, i, "") {
		entries = append(entries, RateLimitEntry{d.key, d.value})
	}
	return entries
}
