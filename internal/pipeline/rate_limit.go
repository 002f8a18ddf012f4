package pipeline

import (
	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/resolve/traffic"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	stageRateLimitBudget = "rate limit budget"
	stageRateLimit       = "rate limit"
)

// RateLimits configures the rate limit service.
type RateLimits interface {
	// Apply takes the global limits of all policies, and returns the state that the service is to have now.
	Apply(all []*ir.GlobalRateLimit) (state string)
}

// WithGlobalRateLimits says whether there is a rate limit service.
func WithGlobalRateLimits(enabled bool) Option {
	return func(p *Pipeline) { p.graph.objects.GlobalRateLimits = enabled }
}

// addRateLimitStages adds the stages that make what the rate limit service has to know. It depends on policies alone: which routes they
// apply to, proxies say with each request.
func (g *graph) addRateLimitStages() {
	policies := g.objects.BackendTrafficPolicies
	limited := func(bucket func(*v1alpha1.BackendTrafficPolicy) string) func(string, *v1alpha1.BackendTrafficPolicy) []string {
		return func(_ string, p *v1alpha1.BackendTrafficPolicy) []string {
			if traffic.GlobalRateWeight(p) == 0 {
				return nil
			}
			return []string{bucket(p)}
		}
	}
	byNamespace := store.NewIndex(policies, "rate limit.byNamespace", limited((*v1alpha1.BackendTrafficPolicy).GetNamespace))
	byKey := store.NewIndex(policies, "rate limit.byKey", limited(func(p *v1alpha1.BackendTrafficPolicy) string { return store.KeyOf(p) }))
	g.objects.RateLimitBudgets = memo.Derive(g.memo, stageRateLimitBudget, from(byNamespace), deepEqual[limits.Cutoff],
		func(v *store.View, namespace string) limits.Cutoff {
			var items []limits.Item
			for _, key := range byNamespace.Keys(v, namespace) {
				if p, ok := policies.Get(v, key); ok {
					items = append(items, limits.Item{Created: p.CreationTimestamp.Unix(), Key: key, Weight: traffic.GlobalRateWeight(p)})
				}
			}
			return limits.Find(items, g.objects.Limits.RateLimits)
		})
	g.rateLimits = memo.Derive(g.memo, stageRateLimit, from(byKey), deepEqual[*ir.GlobalRateLimit],
		func(v *store.View, key string) *ir.GlobalRateLimit { return traffic.GlobalRateLimit(v, g.objects, key) })
}

// publishRateLimits configures the rate limit service if a limit changed, and returns the state it is to have then.
func (g *graph) publishRateLimits(to RateLimits) (state string) {
	changed := g.rateLimits.TakeChanged()
	if to == nil || g.rateLimited && len(changed) == 0 {
		return ""
	}
	g.rateLimited = true
	var all []*ir.GlobalRateLimit
	for _, key := range g.rateLimits.Keys(nil) {
		if l, _ := g.rateLimits.Get(nil, key); l != nil {
			all = append(all, l)
		}
	}
	return to.Apply(all)
}

// withRateLimits adds the state of the rate limit service to those of Gateways.
func withRateLimits(states map[xds.GroupID]string, limits string) map[xds.GroupID]string {
	if states == nil {
		states = map[xds.GroupID]string{}
	}
	states[xds.GroupID(ir.RateLimitService)] = limits
	return states
}
