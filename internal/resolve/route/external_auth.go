package route

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/auth"
)

// externalAuth resolves the filter. A backend that cannot be asked makes the rule answer 500: nothing passes unchecked.
func (r *resolver) externalAuth(f *gwv1.HTTPExternalAuthFilter, a *action) string {
	resolved, problem, message := auth.External(r.view, r.in.Objects, r.from, f)
	if problem != nil {
		r.problems.unresolvedRef(problem)
		a.unchecked = true
		return ""
	}
	a.settings().Auth = &resolved
	if message == "" {
		r.problems.used(resolved.Backend)
	}
	return message
}
