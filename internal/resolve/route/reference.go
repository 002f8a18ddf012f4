package route

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// maxReferences is how many references a message tells of, so that no route makes it larger than the API takes.
const maxReferences = 16

// place is a part of a rule that refers to a backend: one of its backends, or one of its filters.
type place struct {
	rule, index int
	filter      bool
}

// String is how users count: by the indexes of the spec.
func (p place) String() string {
	part := "backend"
	if p.filter {
		part = "filter"
	}
	return fmt.Sprintf("rule %d, %s %d", p.rule, part, p.index)
}

// use is a backend and the place that refers to it.
type use struct {
	place
	backend ir.Backend
}

// unresolvedRef notes a reference that leads nowhere.
func (w *ruleProblems) unresolvedRef(p *refs.Problem) {
	if len(w.unresolved) == 0 {
		w.reason = p.Reason
	}
	w.unresolved = append(w.unresolved, fmt.Sprintf("%s: %s", w.at, p.Message))
	if p.Missing != "" {
		w.missing = append(w.missing, p.Missing)
	}
	if p.Import != "" {
		w.imports = append(w.imports, p.Import)
	}
}

// used notes a reference that leads to a backend.
func (w *ruleProblems) used(backend ir.Backend) { w.uses = append(w.uses, use{w.at, backend}) }

func (w *ruleProblems) resolvedRefs() outcome.Condition {
	if len(w.unresolved) > 0 {
		return outcome.Condition{
			Type: string(gwv1.RouteConditionResolvedRefs), State: outcome.False, Reason: w.reason, Message: list(w.unresolved),
		}
	}
	return outcome.Condition{
		Type: string(gwv1.RouteConditionResolvedRefs), State: outcome.True,
		Reason: string(gwv1.RouteReasonResolvedRefs), Message: refs.Resolved,
	}
}

// list puts texts in a row, and counts those that are too many.
func list(texts []string) string {
	if more := len(texts) - maxReferences; more > 0 {
		texts = append(slices.Clone(texts[:maxReferences]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// MissingServices are the Services and ServiceImports that the route refers to, and may refer to, that do not exist, as in
// [refs.Problem], sorted.
func (r Resolved) MissingServices() []string { return r.missing }

// Imports are the InferencePoolImports that the route refers to, as `namespace/name`, sorted.
func (r Resolved) Imports() []string { return r.imports }
