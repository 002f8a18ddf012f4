package route

import (
	"cmp"
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// ruleProblems collects what is wrong with a route's rules while they are being looked at.
type ruleProblems struct {
	// unresolved tells of each reference that leads nowhere, and reason is that of the first.
	unresolved []string
	reason     string
	// at is the reference that is being looked at, uses are those that lead to a backend, and missing the Services that do not exist.
	at      place
	uses    []use
	missing []string
	// imports are the InferencePoolImports that rules refer to.
	imports []string
	// invalid holds a message for each rule that cannot be served as written.
	invalid []string
	rules   int
	// answer is what becomes of the requests of an invalid rule.
	answer string
}

func (w *ruleProblems) invalidRule(index int, message string) {
	w.invalid = append(w.invalid, fmt.Sprintf("rule %d: %s", index, message))
}

// finish puts a route together. A rule that cannot be served answers an error, so that nothing less specific takes its requests. When no
// rule can be, the route is not accepted, and its rules answer all the same.
func (w *ruleProblems) finish(r Resolved, b binding, generation int64) Resolved {
	r.Outcome = outcome.Route{Generation: generation, Parents: b.parents}
	refused := len(w.invalid) > 0 && len(w.invalid) == w.rules
	r.Attachments, r.listeners = b.attachments, b.listeners
	for i := range r.Outcome.Parents {
		parent := &r.Outcome.Parents[i]
		if refused && parent.Conditions[0].State == outcome.True {
			parent.Gateway = ""
			parent.Conditions[0] = outcome.Condition{
				Type: string(gwv1.RouteConditionAccepted), State: outcome.False,
				Reason: string(gwv1.RouteReasonUnsupportedValue), Message: strings.Join(w.invalid, "; "),
			}
		}
		if len(w.invalid) > 0 && !refused {
			answer := cmp.Or(w.answer, fmt.Sprintf("these requests are answered %d", failure(r.Kind).StatusCode))
			parent.Conditions = append(parent.Conditions, outcome.Condition{
				Type: string(gwv1.RouteConditionPartiallyInvalid), State: outcome.True,
				Reason:  string(gwv1.RouteReasonUnsupportedValue),
				Message: fmt.Sprintf("Dropped Rule: %s: %s", answer, strings.Join(w.invalid, "; ")),
			})
		}
		parent.Conditions = append(parent.Conditions, w.resolvedRefs())
	}
	r.Backends, r.uses, r.missing = r.needs().Backends(), w.uses, unique(w.missing)
	r.imports = unique(w.imports)
	return r
}

// failing answers every request of a rule with an error. The standard: 500 for HTTP, UNAVAILABLE for gRPC, which is what 503 means there.
func failing(kind string) action { return action{fail: failure(kind), unchecked: true} }

func failure(kind string) *ir.Fail {
	if kind == string(store.GRPCRoute) {
		return &ir.Fail{StatusCode: 503}
	}
	return &ir.Fail{StatusCode: 500}
}
