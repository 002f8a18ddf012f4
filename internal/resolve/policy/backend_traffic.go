package policy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedBackendTraffic is what an XBackendTrafficPolicy asks for, whether or not it is the one that decides.
type ResolvedBackendTraffic struct {
	// Key and Created take part in precedence: the older policy wins, then the one whose name sorts first.
	Key     string
	Created int64
	// Targets are as in [store.BackendTarget]; Others describes those of kinds that can not be one.
	Targets []string
	Others  []string
	// Budget is nil where the policy says nothing about retries, or nothing that can be served.
	Budget *ir.RetryBudget
	// Accepted says why the policy can not be served.
	Accepted   *refs.Problem
	Generation int64
}

// BackendTraffic resolves the XBackendTrafficPolicy of that key.
func BackendTraffic(v *store.View, objects *store.Objects, key string) ResolvedBackendTraffic {
	p, ok := objects.BackendTrafficPolicies.Get(v, key)
	if !ok {
		return ResolvedBackendTraffic{}
	}
	r := ResolvedBackendTraffic{Key: key, Created: p.CreationTimestamp.Unix(), Generation: p.Generation}
	for _, ref := range p.Spec.TargetRefs {
		if target, ok := store.BackendTarget(string(ref.Group), string(ref.Kind), p.Namespace, string(ref.Name)); ok {
			r.Targets = append(r.Targets, target)
		} else {
			r.Others = append(r.Others, strings.TrimPrefix(string(ref.Group)+"/"+string(ref.Kind), "/"))
		}
	}
	if p.Spec.SessionPersistence != nil { //nolint:staticcheck // deprecated in the standard, and still to be answered when set
		r.Accepted = invalid("sessionPersistence is not served in a policy; set it on an XBackend, or on the rules of routes")
		return r
	}
	if p.Spec.RetryConstraint != nil {
		r.Budget, r.Accepted = retryBudget(p.Spec.RetryConstraint)
	}
	if r.Budget != nil {
		r.Budget.Origin = string(store.XBackendTrafficPolicy) + "/" + key
	}
	return r
}

// retryBudget reads a constraint. What it leaves out has the defaults of the standard.
func retryBudget(c *gwxv1alpha1.RetryConstraint) (*ir.RetryBudget, *refs.Problem) {
	percent, count := 20, 10
	interval, rate := gwv1.Duration("10s"), gwv1.Duration("1s")
	if c.Budget != nil {
		percent, interval = pointedOr(c.Budget.Percent, percent), pointedOr(c.Budget.Interval, interval)
	}
	if c.MinRetryRate != nil {
		count, rate = pointedOr(c.MinRetryRate.Count, count), pointedOr(c.MinRetryRate.Interval, rate)
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

func pointedOr[T any](pointer *T, fallback T) T {
	if pointer == nil {
		return fallback
	}
	return *pointer
}

// TrafficInputs are the tables that XBackendTrafficPolicies are weighed against each other with.
type TrafficInputs struct {
	Objects  *store.Objects
	Policies *store.Table[ResolvedBackendTraffic]
}

// RetryBudget is the budget of one [ir.Backend.Target], nil if no policy that can be served has a say.
func (in TrafficInputs) RetryBudget(v *store.View, target string) *ir.RetryBudget {
	return in.winner(v, target).Budget
}

// winner is the policy that takes precedence among all that name the target; it has no key where there is none.
func (in TrafficInputs) winner(v *store.View, target string) ResolvedBackendTraffic {
	var best ResolvedBackendTraffic
	for _, key := range in.Objects.TrafficPoliciesByTarget.Keys(v, target) {
		p, _ := in.Policies.Get(v, key)
		if best.Key == "" || cmp.Or(cmp.Compare(p.Created, best.Created), cmp.Compare(p.Key, best.Key)) < 0 {
			best = p
		}
	}
	return best
}

// Status is what became of the policy of that key, seen from each Gateway that sends requests to one of its targets. users lists those, by
// `namespace/name`.
func (in TrafficInputs) Status(v *store.View, users func(target string) []string, key string) outcome.Policy {
	r, ok := in.Policies.Get(v, key)
	if !ok {
		return outcome.Policy{}
	}
	verdicts := map[string]*refs.Problem{}
	for _, target := range r.Targets {
		problem := in.judge(v, r, target)
		for _, gateway := range users(target) {
			// The first target that has a problem speaks for the others.
			if verdicts[gateway] == nil {
				verdicts[gateway] = problem
			}
		}
	}
	return r.outcome(verdicts)
}

func (in TrafficInputs) judge(v *store.View, r ResolvedBackendTraffic, target string) *refs.Problem {
	if winner := in.winner(v, target); winner.Key != r.Key {
		return &refs.Problem{
			Reason: string(gwv1.PolicyReasonConflicted),
			Message: fmt.Sprintf("XBackendTrafficPolicy %s targets the same %s and takes precedence, being older or first by name; remove one of the two",
				winner.Key, named(target)),
		}
	}
	return r.Accepted
}

// named is a target as people call it.
func named(target string) string {
	if custom, ok := strings.CutPrefix(target, string(store.XBackend)+"/"); ok {
		return string(store.XBackend) + " " + custom
	}
	return string(store.Service) + " " + target
}

func (r ResolvedBackendTraffic) outcome(verdicts map[string]*refs.Problem) outcome.Policy {
	o := outcome.Policy{Generation: r.Generation}
	for _, gateway := range sortedKeys(verdicts) {
		accepted := outcome.Condition{
			Type: string(gwv1.PolicyConditionAccepted), State: outcome.True,
			Reason: string(gwv1.PolicyReasonAccepted), Message: "requests to the targets are retried within the budget",
		}
		if len(r.Others) > 0 {
			accepted.Message += "; targets of these kinds are left out, only a Service or an XBackend can be one: " + strings.Join(r.Others, ", ")
		}
		if problem := verdicts[gateway]; problem != nil {
			accepted.State, accepted.Reason, accepted.Message = outcome.False, problem.Reason, problem.Message
		}
		o.Ancestors = append(o.Ancestors, outcome.Parent{Ref: gatewayRef(gateway), Conditions: []outcome.Condition{accepted}})
	}
	return o
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
