package policy

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
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

// Tracing is which requests of the Gateway of that key become spans, nil for none. A policy on the Gateway decides, whatever its parameters
// say, and even where it cannot be served: another would send elsewhere what this one asks for.
func (in TelemetryInputs) Tracing(v *store.View, key string) *ir.Tracing {
	r, _ := in.Gateways.Get(v, key)
	if !r.Serves {
		return nil
	}
	name := ir.ParseName(key)
	target := attach.Gateways.Target(name.Namespace, name.Name, "")
	decided, origin := r.Tracing, ir.ObjectRef{}
	if merged := telemetryKind.Merge(attach.Subject{Chain: []attach.Target{target}}, in.attached(v, target)); len(merged.Origins) > 0 {
		from := merged.Origins[0].Object
		decided, origin = merged.Spec, ir.ObjectRef{Kind: from.Kind, Name: ir.Name{Namespace: from.Namespace, Name: from.Name}}
	}
	if decided == nil {
		return nil
	}
	own := *decided
	own.Origin = origin
	if own.Service == "" {
		own.Service = name.Name + "." + name.Namespace
	}
	return &own
}

// attached lists the policies that target a Gateway.
func (in TelemetryInputs) attached(v *store.View, t attach.Target) []*ResolvedTelemetry {
	return policiesOf(v, in.Policies, in.Objects.TelemetryPoliciesByGateway.Keys(v, t.Key()))
}

// Status is what became of the policy of that key, seen from each of its Gateways that is ours or does not exist.
func (in TelemetryInputs) Status(v *store.View, key string) outcome.Policy {
	p, ok := in.Policies.Get(v, key)
	if !ok {
		return outcome.Policy{}
	}
	return telemetryKind.Status(&p, telemetryKind.Direct(&p, attach.Neighbours[*ir.Tracing]{
		Policies: func(t attach.Target) []*ResolvedTelemetry { return in.attached(v, t) },
		Missing: func(t attach.Target) *refs.Problem {
			if in.exists(v, t) {
				return nil
			}
			return &refs.Problem{Reason: string(gwv1.PolicyReasonTargetNotFound), Message: t.String() + " does not exist"}
		},
		Gateways: func(t attach.Target) []string {
			if resolved, _ := in.Gateways.Get(v, t.Key()); in.exists(v, t) && !resolved.Ours {
				return nil
			}
			return []string{t.Key()}
		},
	}))
}

func (in TelemetryInputs) exists(v *store.View, t attach.Target) bool {
	_, ok := in.Objects.Gateways.Get(v, t.Key())
	return ok
}
