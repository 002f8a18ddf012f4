package ratelimit

import (
	"slices"
	"strings"
	"time"

	rlsv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

var units = map[time.Duration]rlsv3.RateLimitUnit{
	time.Second: rlsv3.RateLimitUnit_SECOND, time.Minute: rlsv3.RateLimitUnit_MINUTE,
	time.Hour: rlsv3.RateLimitUnit_HOUR, 24 * time.Hour: rlsv3.RateLimitUnit_DAY,
}

// Config is the configuration of the service for the limits of all policies, the same for any order of them. Each rule is a chain of
// descriptors as [filter.RateLimitEntries] has it, with the limit at its end.
func Config(all []*ir.GlobalRateLimit) *rlsv3.RateLimitConfig {
	config := &rlsv3.RateLimitConfig{Name: filter.RateLimitDomain, Domain: filter.RateLimitDomain}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *ir.GlobalRateLimit) int {
		return strings.Compare(a.Policy.String(), b.Policy.String())
	})
	for _, l := range sorted {
		for i := range l.Rules {
			config.Descriptors = append(config.Descriptors, descriptor(l, i))
		}
	}
	return config
}

func descriptor(l *ir.GlobalRateLimit, i int) *rlsv3.RateLimitDescriptor {
	rule := &l.Rules[i]
	var chain *rlsv3.RateLimitDescriptor
	for _, entry := range slices.Backward(filter.RateLimitEntries(l, i)) {
		d := &rlsv3.RateLimitDescriptor{Key: entry.Key, Value: entry.Value}
		if chain == nil {
			d.RateLimit = &rlsv3.RateLimitPolicy{RequestsPerUnit: rule.Requests, Unit: units[rule.Unit]}
			d.ShadowMode = rule.Shadow
		} else {
			d.Descriptors = []*rlsv3.RateLimitDescriptor{chain}
		}
		chain = d
	}
	return chain
}
