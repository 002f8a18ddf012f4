package attach

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// whole is what became of an inherited policy altogether, for tools that do not know ancestors. ancestors are in order of their names.
func (k *Kind[S]) whole(p *Policy[S], names []string, ancestors []ancestor, reaches []Reach) []outcome.Condition {
	problem := k.wholeProblem(p, ancestors, reaches)
	c := accepted(p, problem)
	if problem == nil && len(ancestors) == 0 {
		c.Message += "; no Gateway uses its targets"
	}
	conditions := []outcome.Condition{c}
	if k.ResolvedRefs {
		conditions = append(conditions, resolvedRefs(p.ResolvedRefs))
	}
	if c, ok := programmed(p.Ref, names, problem, reaches); ok {
		conditions = append(conditions, c)
	}
	return conditions
}

// wholeProblem says why a policy does not decide about all of its targets.
func (k *Kind[S]) wholeProblem(p *Policy[S], ancestors []ancestor, reaches []Reach) *refs.Problem {
	if p.Accepted != nil {
		return p.Accepted
	}
	if len(p.Targets) == 0 {
		message := "the policy has no target; add one"
		if len(p.Notes) > 0 {
			message = "the policy has no target: " + strings.Join(p.Notes, "; ")
		}
		return &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: message}
	}
	var problems []*refs.Problem
	failing := 0
	for _, a := range ancestors {
		var problem *refs.Problem
		if a.problem != nil {
			failing++
			problem = &refs.Problem{Reason: a.problem.Reason, Message: fmt.Sprintf("at Gateway %s: %s", a.gateway, a.problem.Message)}
		}
		problems = append(problems, problem)
	}
	first := k.together(problems)
	switch {
	case first != nil && failing > 1:
		first.Message += fmt.Sprintf("; and at %d more", failing-1)
	case failing == 0:
		// What does not exist may have to do with no Gateway.
		if i := slices.IndexFunc(reaches, func(r Reach) bool { return r.Missing != nil }); i >= 0 {
			first = reaches[i].Missing
		}
	}
	return first
}

// summary counts each object once, through however many targets and Gateways it is reached.
func summary(policy Ref, targets []Target, reaches []Reach) outcome.PolicySummary {
	affected, overridden, failing := map[Target]bool{}, map[Target]bool{}, map[Target]bool{}
	others := 0
	for _, r := range reaches {
		others += r.Others
		if r.Missing != nil {
			failing[r.Subject] = true
			continue
		}
		affected[r.Subject] = true
		for _, l := range r.Losses {
			switch {
			case l.Policy != policy || !l.reported():
			case l.Cause == RejectsInline:
				failing[r.Subject] = true
			default:
				overridden[r.Subject] = true
			}
		}
	}
	return outcome.PolicySummary{Targets: len(targets), Affected: len(affected) + others, Overridden: len(overridden), Failing: len(failing)}
}

// chunks cuts a list between elements that do not belong together.
func chunks[T any](list []T, together func(a, b T) bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for start := 0; start < len(list); {
			end := start + 1
			for end < len(list) && together(list[start], list[end]) {
				end++
			}
			if !yield(list[start:end]) {
				return
			}
			start = end
		}
	}
}
