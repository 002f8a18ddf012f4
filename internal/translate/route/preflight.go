package route

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
)

// withPreflights gives rules with CORS a rule of its own for preflights, where one is needed. A rule for another method than OPTIONS would
// not see them; if the rule itself asks for CORS, it has one already. And where a host has requests pass filters before routing, browsers
// send no credentials with a preflight, so no authorization server can let it pass. It reaches nothing but the filter that answers it.
func withPreflights(host *ir.VirtualHost) []ir.Rule {
	var rules []ir.Rule
	for i := range host.Rules {
		rule := &host.Rules[i]
		if !needsPreflight(host, i) {
			if rules != nil {
				rules = append(rules, *rule)
			}
			continue
		}
		if rules == nil {
			rules = slices.Clone(host.Rules[:i])
		}
		m, policy := rule.Match, host.PolicyOf(rule)
		own := ir.Rule{
			Name: rule.Name, ResponseHeaders: rule.ResponseHeaders,
			Policy:  &ir.RequestPolicy{CORS: policy.CORS, Origins: policy.Origins},
			Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Weight: 1}}},
		}
		if m.Method == ir.MethodOptions {
			m.Method = ""
		}
		own.Match = m.OfPreflight()
		rules = append(rules, own, *rule)
	}
	if rules == nil {
		return host.Rules
	}
	return slices.Clip(rules)
}

func needsPreflight(host *ir.VirtualHost, i int) bool {
	rule := &host.Rules[i]
	policy := host.PolicyOf(rule)
	if policy.CORS == nil || policy.CORS.Guard == ir.Off || policy.FailsClosed() || rule.Forward == nil || rule.Match.Preflight {
		return false
	}
	if rule.Match.Method == "" || rule.Match.Method == ir.MethodOptions {
		return len(host.Filters) > 0
	}
	known := slices.ContainsFunc(host.Rules, func(other ir.Rule) bool { return other.Match.Preflight && other.Name == rule.Name })
	return !known
}
