package route

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
)

// withPreflights gives rules with CORS a rule of its own for preflights, where a host has requests pass filters before routing. Browsers
// send no credentials with a preflight, so no authorization server can let it pass, and it reaches nothing but the filter that answers it.
func withPreflights(host *ir.VirtualHost) []ir.Rule {
	if len(host.Filters) == 0 {
		return host.Rules
	}
	var rules []ir.Rule
	for _, rule := range host.Rules {
		m := rule.Match
		if rule.CORS != nil && rule.Forward != nil && !m.Preflight && (m.Method == "" || m.Method == ir.MethodOptions) {
			m.Method = ""
			rules = append(rules, ir.Rule{
				Name: rule.Name, Match: m.OfPreflight(), CORS: rule.CORS, ResponseHeaders: rule.ResponseHeaders, Origins: rule.Origins,
				Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Weight: 1}}},
			})
		}
		rules = append(rules, rule)
	}
	return slices.Clip(rules)
}
