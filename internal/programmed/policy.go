package programmed

import (
	"slices"

	"github.com/gatewright/gatewright/internal/outcome"
)

// withPolicyProgrammed adds the condition Programmed to an inherited policy: to each ancestor, and to the policy as a whole. Settings
// that have no effect say so already.
func withPolicyProgrammed(o outcome.Policy, condition func(gateway string) outcome.Condition) outcome.Policy {
	if len(o.Conditions) == 0 {
		return o
	}
	whole := outcome.Condition{State: outcome.False, Reason: outcome.NotAttached, Message: "no Gateway uses the targets of the policy"}
	for i, gateway := range o.Gateways {
		// What is wrong at one Gateway is wrong with the whole; what is not known of one is not known of the whole.
		if own := condition(gateway); i == 0 || own.State == outcome.False || own.State != outcome.True && whole.State == outcome.True {
			whole = own
		}
		if whole.State == outcome.False {
			break
		}
	}
	o.Conditions = addProgrammed(o.Conditions, whole)
	o.Ancestors = slices.Clone(o.Ancestors)
	for i := range o.Ancestors {
		o.Ancestors[i].Conditions = addProgrammed(o.Ancestors[i].Conditions, condition(gatewayKey(o.Ancestors[i].Ref)))
	}
	return o
}

func addProgrammed(conditions []outcome.Condition, own outcome.Condition) []outcome.Condition {
	if slices.ContainsFunc(conditions, func(c outcome.Condition) bool { return c.Type == outcome.Programmed }) {
		return conditions
	}
	own.Type = outcome.Programmed
	return slices.Concat(conditions, []outcome.Condition{own})
}
