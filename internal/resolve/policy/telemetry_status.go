package policy

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// TelemetryInputs are the tables that XTelemetryPolicies are weighed against each other with.
type TelemetryInputs struct {
	Objects  *store.Objects
	Policies *store.Table[ResolvedTelemetry]
	Gateways *store.Table[gateway.Resolved]
}

// Tracing is which requests of the Gateway of that key become spans, nil for none. A policy on the Gateway decides, whatever its parameters say.
func (in TelemetryInputs) Tracing(v *store.View, key string) *ir.Tracing {
	r, _ := in.Gateways.Get(v, key)
	if !r.Serves {
		return nil
	}
	decided := r.Tracing
	if winner := in.winner(v, key); winner.Key != "" {
		decided = winner.Tracing
	}
	if decided == nil {
		return nil
	}
	own := *decided
	if own.Service == "" {
		name := ir.ParseName(key)
		own.Service = name.Name + "." + name.Namespace
	}
	return &own
}

// winner is the policy that takes precedence among all that name the Gateway; it has no key where there is none. It decides even where it can not
// be served: another would send to somebody else what this one asks for.
func (in TelemetryInputs) winner(v *store.View, key string) ResolvedTelemetry {
	var best ResolvedTelemetry
	for _, policy := range in.Objects.TelemetryPoliciesByGateway.Keys(v, key) {
		if p, _ := in.Policies.Get(v, policy); best.Key == "" || p.before(best) {
			best = p
		}
	}
	return best
}

// Status is what became of the policy of that key, seen from each of its Gateways that is ours or does not exist.
func (in TelemetryInputs) Status(v *store.View, key string) outcome.Policy {
	r, ok := in.Policies.Get(v, key)
	if !ok {
		return outcome.Policy{}
	}
	o := outcome.Policy{Generation: r.Generation}
	for _, target := range slices.Compact(slices.Sorted(slices.Values(r.Gateways))) {
		problem := r.Accepted
		switch resolved, _ := in.Gateways.Get(v, target); {
		case !in.exists(v, target):
			problem = &refs.Problem{Reason: string(gwv1.PolicyReasonTargetNotFound), Message: fmt.Sprintf("Gateway %s does not exist", target)}
		case !resolved.Ours:
			continue
		default:
			if winner := in.winner(v, target); winner.Key != r.Key {
				problem = &refs.Problem{
					Reason: string(gwv1.PolicyReasonConflicted),
					Message: fmt.Sprintf("XTelemetryPolicy %s targets the same Gateway %s and takes precedence, being older or first by name; remove one of the two",
						winner.Key, target),
				}
			}
		}
		o.Ancestors = append(o.Ancestors, outcome.Parent{Ref: gatewayRef(target), Conditions: r.conditions(problem)})
	}
	return o
}

func (in TelemetryInputs) exists(v *store.View, key string) bool {
	_, ok := in.Objects.Gateways.Get(v, key)
	return ok
}

func (r ResolvedTelemetry) conditions(problem *refs.Problem) []outcome.Condition {
	accepted := outcome.Condition{
		Type: string(gwv1.PolicyConditionAccepted), State: outcome.True,
		Reason: string(gwv1.PolicyReasonAccepted), Message: "there are no spans, as the policy says",
	}
	if r.Tracing != nil {
		accepted.Message = "requests become spans as the policy says"
	}
	if len(r.Omitted) > 0 {
		accepted.Message += "; these attributes are left out, the proxy does not know them: " + strings.Join(r.Omitted, ", ")
	}
	if len(r.Others) > 0 {
		accepted.Message += "; targets of these kinds are left out, only a Gateway can be one: " + strings.Join(r.Others, ", ")
	}
	if problem != nil {
		accepted.State, accepted.Reason, accepted.Message = outcome.False, problem.Reason, problem.Message
	}
	resolved := outcome.Condition{
		Type: string(gwxv1alpha1.TelemetryPolicyConditionResolvedRefs), State: outcome.True,
		Reason: string(gwxv1alpha1.TelemetryPolicyReasonResolvedRefs), Message: "all references lead somewhere",
	}
	if r.ResolvedRefs != nil {
		resolved.State, resolved.Reason, resolved.Message = outcome.False, r.ResolvedRefs.Reason, r.ResolvedRefs.Message
	}
	return []outcome.Condition{accepted, resolved}
}
