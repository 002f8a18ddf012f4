package route

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/extension"
	"github.com/gatewright/gatewright/internal/store"
)

// isExtension reports whether a filter is an Extension.
func isExtension(ref *gwv1.LocalObjectReference) bool {
	return ref != nil && ref.Group == v1alpha1.GroupName && ref.Kind == gwv1.Kind(store.Extension)
}

// extension applies an Extension. One that cannot be found or served makes the rule answer 500: nothing passes without it.
func (r *resolver) extension(name string, a *action) string {
	list, problem, message := extension.Resolve(r.view, r.in.Objects, r.from.Namespace, name)
	if problem != nil {
		problem.Message += "; until then requests are answered with an error"
		r.problems.unresolvedRef(problem)
		a.unchecked = true
		return ""
	}
	if message != "" {
		return message
	}
	all := slices.Concat(a.extensions.All(), list)
	if len(all) > ir.MaxExtensions {
		return fmt.Sprintf("the Extensions of the rule have %d servers and scripts, and %d are allowed; use fewer", len(all), ir.MaxExtensions)
	}
	for _, e := range list {
		if e.ExtProc != nil {
			r.problems.used(e.ExtProc.Backend)
		}
	}
	a.extensions = &ir.Extensions{List: all}
	return ""
}
