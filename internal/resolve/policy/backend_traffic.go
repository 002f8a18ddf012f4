package policy

import (
	"fmt"
	"math"
	"time"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedBackendTraffic is what an XBackendTrafficPolicy asks for, whether or not it is the one that decides. Its spec is nil where the
// policy says nothing about retries, or nothing that can be served.
type ResolvedBackendTraffic = attach.Policy[*ir.RetryBudget]

var backendTrafficKind = attach.Kind[*ir.RetryBudget]{
	Name:     string(store.XBackendTrafficPolicy),
	Targets:  []attach.TargetKind{attach.Services.Whole(), attach.XBackends, attach.ServiceImports.Whole()},
	Settings: []attach.Setting[*ir.RetryBudget]{attach.Whole[*ir.RetryBudget]("retryConstraint")},
}

// BackendTraffic resolves the XBackendTrafficPolicy of that key.
func BackendTraffic(v *store.View, objects *store.Objects, key string) ResolvedBackendTraffic {
	p, ok := objects.XBackendTrafficPolicies.Get(v, key)
	if !ok {
		return ResolvedBackendTraffic{}
	}
	r := newPolicy(&backendTrafficKind, p)
	references := make([]attach.Reference, 0, len(p.Spec.TargetRefs))
	for _, ref := range p.Spec.TargetRefs {
		references = append(references, attach.Reference{Group: string(ref.Group), Kind: string(ref.Kind), Name: string(ref.Name)})
	}
	r.Targets, r.Excluded = backendTrafficKind.Attach(p.Namespace, "", references)
	r.Serves, r.Notes = "requests to the targets are retried within the budget", backendTrafficKind.Notes(r.Excluded, "")
	if p.Spec.SessionPersistence != nil { //nolint:staticcheck // deprecated in the standard, and still to be answered when set
		r.Accepted = invalid("sessionPersistence is not served in a policy; set it on an XBackend, or on the rules of routes")
		return r
	}
	if p.Spec.RetryConstraint != nil {
		r.Spec, r.Accepted = retryBudget(p.Spec.RetryConstraint)
	}
	if r.Spec != nil {
		r.Spec.Origin = ir.ObjectRef{Kind: string(store.XBackendTrafficPolicy), Name: ir.ParseName(key)}
	}
	return r
}

// retryBudget reads a constraint. What it leaves out has the defaults of the standard.
func retryBudget(c *gwxv1alpha1.RetryConstraint) (*ir.RetryBudget, *refs.Problem) {
	percent, count := 20, 10
	interval, rate := gwv1.Duration("10s"), gwv1.Duration("1s")
	if c.Budget != nil {
		percent, interval = ptr.Deref(c.Budget.Percent, percent), ptr.Deref(c.Budget.Interval, interval)
	}
	if c.MinRetryRate != nil {
		count, rate = ptr.Deref(c.MinRetryRate.Count, count), ptr.Deref(c.MinRetryRate.Interval, rate)
	}
	over, err := time.ParseDuration(string(interval))
	if err != nil || over < 0 {
		return nil, invalid(fmt.Sprintf("retryConstraint.budget.interval %q is not a duration", interval))
	}
	per, err := time.ParseDuration(string(rate))
	if err != nil || per <= 0 {
		return nil, invalid(fmt.Sprintf("retryConstraint.minRetryRate.interval %q is not a duration", rate))
	}
	return &ir.RetryBudget{
		Percent:  uint32(min(max(percent, 0), 100)),
		Interval: over,
		// Envoy counts retries that are under way at a time; a rate per second is what comes nearest.
		Minimum: uint32(min(math.Ceil(float64(max(count, 0))/per.Seconds()), math.MaxInt32)),
	}, nil
}

func invalid(message string) *refs.Problem {
	return &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: message}
}

// TrafficInputs are the tables that XBackendTrafficPolicies are weighed against each other with.
type TrafficInputs struct {
	Objects  *store.Objects
	Policies *store.Table[ResolvedBackendTraffic]
}

// RetryBudget is the budget of a backend, nil if no policy that can be served has a say.
func (in TrafficInputs) RetryBudget(v *store.View, backend ir.Backend) *ir.RetryBudget {
	kind := attach.Services
	switch backend.Kind {
	case ir.KindXBackend:
		kind = attach.XBackends
	case ir.KindInferencePool:
		kind = attach.InferencePools
	case ir.KindServiceImport:
		kind = attach.ServiceImports
	case ir.KindService:
	case ir.KindBackend, ir.KindFailover:
		return nil // no such policy targets them
	}
	target := kind.Target(backend.Object.Namespace, backend.Object.Name, "")
	return backendTrafficKind.Merge(attach.Subject{Chain: []attach.Target{target}}, in.attached(v, target)).Spec
}

// attached lists the policies that target a backend.
func (in TrafficInputs) attached(v *store.View, t attach.Target) []*ResolvedBackendTraffic {
	return policiesOf(v, in.Policies, in.Objects.TrafficPoliciesByTarget.Keys(v, backendTarget(t)))
}

// backendTarget is a target as in [store.BackendTarget].
func backendTarget(t attach.Target) string {
	key, _ := store.BackendTarget(t.Group, t.Kind, t.Namespace, t.Name)
	return key
}

func irTarget(t attach.Target) ir.BackendTarget {
	target := ir.BackendTarget{Object: ir.Name{Namespace: t.Namespace, Name: t.Name}}
	switch t.Kind {
	case attach.XBackends.Kind:
		target.Kind = ir.KindXBackend
	case attach.InferencePools.Kind:
		target.Kind = ir.KindInferencePool
	case attach.ServiceImports.Kind:
		target.Kind = ir.KindServiceImport
	}
	return target
}

// Status is the outcome of the policy of that key, for each Gateway that sends requests to one of its targets. The function lists the
// Gateways that use a target, as `namespace/name`.
func (in TrafficInputs) Status(v *store.View, users func(ir.BackendTarget) []string, key string) outcome.Policy {
	p, ok := in.Policies.Get(v, key)
	if !ok {
		return outcome.Policy{}
	}
	return backendTrafficKind.Status(&p, backendTrafficKind.Direct(&p, attach.Neighbours[*ir.RetryBudget]{
		Policies: func(t attach.Target) []*ResolvedBackendTraffic { return in.attached(v, t) },
		// A backend that does not exist is used by no Gateway, so there is no ancestor.
		Missing:  func(attach.Target) *refs.Problem { return nil },
		Gateways: func(t attach.Target) []string { return users(irTarget(t)) },
	}))
}
