package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
)

// besidePicker returns what in a rule would choose endpoints instead of the endpoint picker of an InferencePool. It does not matter whether
// the picker can be used now: a rule must not become invalid when its picker appears.
func (r *resolver) besidePicker(rule requestRule, a *action) string {
	if a.forward == nil {
		return ""
	}
	for i := range a.forward.Backends {
		weighted := &a.forward.Backends[i]
		if weighted.Weight == 0 {
			continue
		}
		pool := weighted.Backend
		failover := pool.Kind == ir.KindFailover
		if failover {
			pool = pool.Members()[0]
		}
		if !backend.HasPicker(r.view, r.in.Objects, pool) {
			continue
		}
		switch {
		case edits(a.requestHeaders, ir.DestinationEndpoint) || edits(weighted.RequestHeaders, ir.DestinationEndpoint):
			return fmt.Sprintf("header %s is for the endpoint picker of InferencePool %s; remove it from the filters",
				ir.DestinationEndpoint, pool.Object)
		case rule.sessions != nil:
			return fmt.Sprintf("sessionPersistence would send requests past the endpoint picker of InferencePool %s; remove it", pool.Object)
		case failover:
			// Envoy's aggregate cluster does not tell the clusters in it what the picker chose.
			return fmt.Sprintf("a Backend with fallback would send requests past the endpoint picker of InferencePool %s; remove it", pool.Object)
		}
	}
	return ""
}

// edits reports whether a header of that name is set or added. Removing it does no harm.
func edits(e *ir.HeaderEdit, name string) bool {
	if e == nil {
		return false
	}
	named := func(h ir.Header) bool { return strings.EqualFold(h.Name, name) }
	if e.Formats != nil && (slices.ContainsFunc(e.Formats.Set, named) || slices.ContainsFunc(e.Formats.Add, named)) {
		return true
	}
	return slices.ContainsFunc(e.Set, named) || slices.ContainsFunc(e.Add, named)
}
