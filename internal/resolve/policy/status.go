package policy

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// BackendTLSStatus is what became of the BackendTLSPolicy of that key, seen from each Gateway that sends requests to one of its targets.
// users finds the Gateways that use a target.
func (in Inputs) BackendTLSStatus(v *store.View, users Users, key string) outcome.Policy {
	r, ok := in.Policies.Get(v, key)
	if !ok {
		return outcome.Policy{}
	}
	verdicts := map[string]*refs.Problem{}
	for _, t := range r.Targets {
		if t.Service == "" {
			continue
		}
		problem := in.judge(v, r, t)
		for _, gateway := range in.gateways(v, users, t) {
			// The first target that has a problem speaks for the others.
			if verdicts[gateway] == nil {
				verdicts[gateway] = problem
			}
		}
	}
	o := outcome.Policy{Generation: r.Generation}
	for gateway, problem := range verdicts {
		o.Ancestors = append(o.Ancestors, outcome.Parent{Ref: gatewayRef(gateway), Conditions: r.conditions(problem)})
	}
	slices.SortFunc(o.Ancestors, func(a, b outcome.Parent) int {
		return strings.Compare(*a.Ref.Namespace+"/"+a.Ref.Name, *b.Ref.Namespace+"/"+b.Ref.Name)
	})
	return o
}

// judge says why a policy does not decide about one of its targets.
func (in Inputs) judge(v *store.View, r ResolvedBackendTLS, t Target) *refs.Problem {
	service, ok := in.Objects.Services.Get(v, t.Service)
	if !ok {
		return &refs.Problem{Reason: string(gwv1.PolicyReasonTargetNotFound), Message: fmt.Sprintf("Service %s does not exist; create it, or correct the target", t.Service)}
	}
	if t.Section != "" && !slices.Contains(portNames(service), t.Section) {
		return &refs.Problem{
			Reason: string(gwv1.PolicyReasonTargetNotFound),
			Message: fmt.Sprintf("Service %s has no TCP port named %q; its ports are named %q",
				t.Service, t.Section, portNames(service)),
		}
	}
	if winner, _ := in.winner(v, t); winner.Key != r.Key {
		return &refs.Problem{
			Reason: string(gwv1.PolicyReasonConflicted),
			Message: fmt.Sprintf("BackendTLSPolicy %s targets the same %s and takes precedence, being older or first by name; remove one of the two",
				winner.Key, t),
		}
	}
	return r.Accepted
}

// String is what people call a target.
func (t Target) String() string {
	if t.Section == "" {
		return "Service " + t.Service
	}
	return fmt.Sprintf("port %s of Service %s", t.Section, t.Service)
}

// Users finds the Gateways, by `namespace/name`, that use a Service.
type Users struct {
	// OfPort are those that use a port of it, and OfMissing those that have a route which refers to it, where it does not exist.
	OfPort    func(service ir.Name, port int32) []string
	OfMissing func(service string) []string
}

// gateways lists the Gateways that use a target. Those of any port see a target whose port does not exist, so that somebody does.
// Where the Service does not exist, a Gateway has something to do with the policy only if one of its routes refers to the Service:
// a policy whose target is a slip of the pen belongs to none.
func (in Inputs) gateways(v *store.View, users Users, t Target) []string {
	service, ok := in.Objects.Services.Get(v, t.Service)
	if !ok {
		return users.OfMissing(t.Service)
	}
	exists := slices.Contains(portNames(service), t.Section)
	var gateways []string
	for _, port := range service.Spec.Ports {
		if isTCP(port) && (!exists || t.Section == "" || port.Name == t.Section) {
			gateways = append(gateways, users.OfPort(ir.ParseName(t.Service), port.Port)...)
		}
	}
	return gateways
}

func (r ResolvedBackendTLS) conditions(problem *refs.Problem) []outcome.Condition {
	accepted := outcome.Condition{
		Type: string(gwv1.PolicyConditionAccepted), State: outcome.True,
		Reason: string(gwv1.PolicyReasonAccepted), Message: "connections to the targets are secured as the policy says",
	}
	if len(r.Ignored) > 0 {
		accepted.Message += "; these options mean nothing to Gatewright: " + strings.Join(r.Ignored, ", ")
	}
	for _, t := range r.Targets {
		if t.Service == "" {
			accepted.Message += fmt.Sprintf("; a target of kind %s is left out, only a Service can be one", t.Kind)
		}
	}
	if problem != nil {
		accepted.State, accepted.Reason, accepted.Message = outcome.False, problem.Reason, problem.Message
	}
	resolved := outcome.Condition{
		Type: string(gwv1.BackendTLSPolicyConditionResolvedRefs), State: outcome.True,
		Reason: string(gwv1.BackendTLSPolicyReasonResolvedRefs), Message: "all references lead somewhere",
	}
	if r.ResolvedRefs != nil {
		resolved.State, resolved.Reason, resolved.Message = outcome.False, r.ResolvedRefs.Reason, r.ResolvedRefs.Message
	}
	return []outcome.Condition{accepted, resolved}
}

func gatewayRef(key string) outcome.ParentRef {
	name := ir.ParseName(key)
	return outcome.ParentRef{
		Group: new(gwv1.GroupName), Kind: new(string(store.Gateway)), Namespace: &name.Namespace, Name: name.Name,
	}
}
