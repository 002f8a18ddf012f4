package traffic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/values"
	"github.com/gatewright/gatewright/internal/store"
)

// rateLimitPort is the port of the rate limit service.
const rateLimitPort = 8081

// GlobalRateLimit is what the rate limit service has to know of the BackendTrafficPolicy of that key, nil for nothing.
func GlobalRateLimit(v *store.View, objects *store.Objects, key string) *ir.GlobalRateLimit {
	object, ok := objects.BackendTrafficPolicies.Get(v, key)
	if !ok || object.Spec.RateLimit == nil || unknownLimits(object).global {
		return nil
	}
	l, _ := globalRateLimit(v, objects, key, object.Spec.RateLimit.Global)
	if l != nil && l.Guard == ir.Broken {
		return nil
	}
	return l
}

// GlobalRateWeight is what the global limits of a policy take in the rate limit service: 1 for each rule and for each condition.
func GlobalRateWeight(p *v1alpha1.BackendTrafficPolicy) int {
	if p.Spec.RateLimit == nil || p.Spec.RateLimit.Global == nil {
		return 0
	}
	weight := 0
	for _, rule := range p.Spec.RateLimit.Global.Rules {
		weight++
		for _, s := range rule.ClientSelectors {
			weight += 2 + len(s.Headers) + len(s.QueryParams) + len(s.Methods)
		}
	}
	return weight
}

// globalRateLimit is what global limits of the policy of that key mean, and what is wrong with them. It is the same wherever the policy
// applies, so that proxies and the rate limit service agree.
func globalRateLimit(v *store.View, objects *store.Objects, key string, g *v1alpha1.GlobalRateLimit) (*ir.GlobalRateLimit, []string) {
	if g == nil {
		return nil, nil
	}
	l := &ir.GlobalRateLimit{Policy: ir.ParseName(key), FailOpen: values.IsTrue(g.FailOpen)}
	if problem := unlimited(v, objects, key); problem != "" {
		l.Guard = ir.Broken
		return l, []string{problem}
	}
	l.Backend = ir.Backend{
		Object: ir.Name{Namespace: objects.System, Name: ir.RateLimitServiceName}, Port: rateLimitPort, Protocol: ir.BackendHTTP2,
	}
	c, broken := newConverter(objects), false
	for i := range g.Rules {
		rule := &g.Rules[i]
		base, ok := c.rateRule(fmt.Sprintf("rateLimit.global.rules[%d].", i), rule)
		if !ok {
			broken = broken || !l.FailOpen && !values.IsTrue(rule.ShadowMode)
			continue
		}
		r := ir.GlobalRateRule{RateRule: base, Shared: values.IsTrue(rule.Shared)}
		if rule.Cost != nil {
			r.ResponseCost = cost(rule.Cost.Response)
		}
		l.Rules = append(l.Rules, r)
	}
	identify(l.Rules)
	switch {
	case len(g.Rules) == 0:
		l.Guard = ir.Broken
		return l, []string{"rateLimit.global: requests are answered with an error, because there is no rule; add one, or remove rateLimit.global"}
	case broken:
		l.Guard, l.Rules = ir.Broken, nil
		return l, append(c.Problems, "rateLimit.global: requests are answered with an error, because a rule cannot be served")
	case len(l.Rules) == 0:
		return nil, c.Problems
	}
	return l, c.Problems
}

// identify names rules by what they count. A number distinguishes those that count the same.
func identify(rules []ir.GlobalRateRule) {
	const length = 8
	seen := map[string]int{}
	for i := range rules {
		rule := &rules[i]
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %t %+v", rule.Unit, rule.Shared, rule.Matches))
		id := hex.EncodeToString(sum[:length])
		if seen[id]++; seen[id] > 1 {
			id = fmt.Sprintf("%s-%d", id, seen[id])
		}
		rule.ID = id
	}
}

// unlimited says why the service counts nothing for a policy, empty if it does.
func unlimited(v *store.View, objects *store.Objects, key string) string {
	const remedy = "so requests are answered with an error"
	if !objects.GlobalRateLimits {
		return fmt.Sprintf("rateLimit.global: the operator of Gatewright has not enabled global rate limits (rateLimit.enabled), %s; "+
			"use rateLimit.local, or ask the operator", remedy)
	}
	p, ok := objects.BackendTrafficPolicies.Get(v, key)
	if !ok || objects.RateLimitBudgets == nil {
		return ""
	}
	cutoff, _ := objects.RateLimitBudgets.Get(v, p.Namespace)
	if !cutoff.Excludes(p.CreationTimestamp.Unix(), key) {
		return ""
	}
	return fmt.Sprintf("rateLimit.global: the rules and conditions of namespace %s may be %d together, and are more, and this policy is one "+
		"of the youngest, %s; remove some, or ask the operator for more (limit rateLimits)", p.Namespace, cutoff.Limit, remedy)
}
