package attach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Reasons of GEP-713 that the Go types of the Gateway API do not have.
const (
	// ReasonOverridden is a policy of which no setting takes effect.
	ReasonOverridden = "Overridden"
	// ReasonPartiallyProgrammed is a policy of which some settings take effect.
	ReasonPartiallyProgrammed = "PartiallyProgrammed"
)

// ancestor is a policy seen from one Gateway.
type ancestor struct {
	gateway    string
	problem    *refs.Problem
	conditions []outcome.Condition
}

// Status is what became of a policy that reaches these objects, in any order. Its ancestors are in the order of their names; those of an
// inherited policy are at most [outcome.MaxAncestors], failing ones first.
func (k *Kind[S]) Status(p *Policy[S], reaches []Reach) outcome.Policy {
	reaches = inOrder(p.Targets, reaches)
	names := k.Has(p)
	var ancestors []ancestor
	for group := range chunks(reaches, func(a, b Reach) bool { return a.Gateway == b.Gateway }) {
		if group[0].Gateway != "" {
			ancestors = append(ancestors, k.ancestor(p, names, group))
		}
	}
	s := outcome.Policy{Generation: p.Generation}
	if k.Inherited {
		for _, a := range ancestors {
			s.Gateways = append(s.Gateways, a.gateway)
		}
		s.Conditions, s.Summary = k.whole(p, names, ancestors, reaches), summary(p.Ref, p.Targets, reaches)
		slices.SortStableFunc(ancestors, func(a, b ancestor) int { return cmp.Compare(a.rank(), b.rank()) })
		ancestors = ancestors[:min(len(ancestors), outcome.MaxAncestors)]
	}
	for _, a := range ancestors {
		s.Ancestors = append(s.Ancestors, outcome.Parent{Ref: GatewayRef(a.gateway), Conditions: a.conditions})
	}
	return s
}

// rank is lower the more there is wrong.
func (a ancestor) rank() int {
	switch {
	case a.problem != nil:
		return 0
	case slices.ContainsFunc(a.conditions, func(c outcome.Condition) bool { return c.State == outcome.False }):
		return 1
	default:
		return 2
	}
}

// GatewayRef refers to the Gateway of that key as an ancestor.
func GatewayRef(key string) outcome.ParentRef {
	name := ir.ParseName(key)
	return outcome.ParentRef{
		Group: new(gwv1.GroupName), Kind: new(string(store.Gateway)), Namespace: &name.Namespace, Name: name.Name,
	}
}

// ancestor is a policy seen from the Gateway that all of the reaches are about.
func (k *Kind[S]) ancestor(p *Policy[S], names []string, reaches []Reach) ancestor {
	a := ancestor{gateway: reaches[0].Gateway}
	var problems []*refs.Problem
	for group := range chunks(reaches, func(a, b Reach) bool { return a.Target == b.Target }) {
		problems = append(problems, k.problem(p, names, group))
	}
	a.problem = k.together(problems)
	a.conditions = []outcome.Condition{accepted(p, a.problem)}
	if k.ResolvedRefs {
		a.conditions = append(a.conditions, resolvedRefs(p.ResolvedRefs))
	}
	if k.Inherited {
		if c, ok := programmed(p.Ref, names, a.problem, reaches); ok {
			a.conditions = append(a.conditions, c)
		}
	}
	return a
}

// together is why a policy is not accepted, given what is wrong at each target or Gateway, nil for nothing. The first problem speaks for
// the others. A conflict at some of them leaves an inherited policy accepted: its condition Programmed names the conflict.
func (k *Kind[S]) together(problems []*refs.Problem) *refs.Problem {
	isConflict := func(p *refs.Problem) bool { return p != nil && p.Reason == string(gwv1.PolicyReasonConflicted) }
	if k.Inherited && slices.Contains(problems, nil) {
		problems = slices.DeleteFunc(problems, isConflict)
	}
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}

// problem says why a policy does not decide about the target that all of the reaches are about.
func (k *Kind[S]) problem(p *Policy[S], names []string, reaches []Reach) *refs.Problem {
	for _, r := range reaches {
		if r.Missing != nil {
			return r.Missing
		}
	}
	if loss, ok := lostEverywhere(p.Ref, names, reaches, Conflicted); ok {
		return &refs.Problem{Reason: string(gwv1.PolicyReasonConflicted), Message: loss.message(len(k.Settings) == 1)}
	}
	if loss, ok := lostEverywhere(p.Ref, names, reaches, NotApplicable); ok {
		return &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: loss.message(false)}
	}
	return p.Accepted
}

// lostEverywhere says whether all settings of a policy are lost on all objects for the same cause, and gives the first of the losses.
func lostEverywhere(policy Ref, names []string, reaches []Reach, cause Cause) (first Loss, all bool) {
	for _, name := range names {
		for _, r := range reaches {
			i := slices.IndexFunc(r.Losses, func(l Loss) bool { return l.Policy == policy && l.Setting == name && l.Cause == cause })
			if i < 0 {
				return Loss{}, false
			}
			if first.Cause == "" {
				first = r.Losses[i]
			}
		}
	}
	return first, first.Cause != ""
}

func accepted[S any](p *Policy[S], problem *refs.Problem) outcome.Condition {
	c := outcome.Condition{
		Type: string(gwv1.PolicyConditionAccepted), State: outcome.True,
		Reason: string(gwv1.PolicyReasonAccepted), Message: strings.Join(append([]string{p.Serves}, p.Notes...), "; "),
	}
	return failed(c, problem)
}

func resolvedRefs(problem *refs.Problem) outcome.Condition {
	c := outcome.Condition{
		Type: string(gwv1.BackendTLSPolicyConditionResolvedRefs), State: outcome.True,
		Reason: string(gwv1.BackendTLSPolicyReasonResolvedRefs), Message: refs.Resolved,
	}
	return failed(c, problem)
}

func failed(c outcome.Condition, problem *refs.Problem) outcome.Condition {
	if problem != nil {
		c.State, c.Reason, c.Message = outcome.False, problem.Reason, problem.Message
	}
	return c
}

// programmed is the condition of a policy that is not accepted, or of which settings have no effect. Otherwise there is none yet: proxies
// have to acknowledge the settings first.
func programmed(policy Ref, names []string, problem *refs.Problem, reaches []Reach) (outcome.Condition, bool) {
	c := outcome.Condition{Type: outcome.Programmed, State: outcome.False}
	if problem != nil {
		c.Reason, c.Message = problem.Reason, "the policy is not accepted: "+problem.Message
		return c, true
	}
	lost, messages := lostSettings(policy, reaches)
	closed, all := notServed(reaches)
	switch {
	case len(lost) == 0 && len(closed) == 0:
		return outcome.Condition{}, false
	case all:
		c.Reason, c.Message = outcome.ListenerNotProgrammed, "no setting takes effect: "+listed(closed)
	case len(lost) > 0 && lostAll(lost, names, reaches):
		c.Reason, c.Message = ReasonOverridden, "no setting takes effect: "+listed(messages)
	default:
		c.Reason, c.Message = ReasonPartiallyProgrammed, "some settings have no effect: "+listed(slices.Concat(messages, closed))
	}
	return c, true
}

// lostSettings counts on how many objects each setting of a policy has no effect, and says why, each reason once.
func lostSettings(policy Ref, reaches []Reach) (lost map[string]int, messages []string) {
	lost = map[string]int{}
	for _, r := range reaches {
		counted := map[string]bool{}
		for _, l := range r.Losses {
			if l.Policy != policy || !l.reported() {
				continue
			}
			if !counted[l.Setting] {
				counted[l.Setting] = true
				lost[l.Setting]++
			}
			if message := l.message(false); !slices.Contains(messages, message) {
				messages = append(messages, message)
			}
		}
	}
	return lost, messages
}

func lostAll(lost map[string]int, names []string, reaches []Reach) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return lost[name] < len(reaches) })
}

// maxListed keeps messages short enough to be read.
const maxListed = 5

func listed(messages []string) string {
	text := strings.Join(messages[:min(len(messages), maxListed)], "; ")
	if more := len(messages) - maxListed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
