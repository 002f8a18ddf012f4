package route

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/store"
)

// withFallbacks sends the share of each backend to the fallbacks of the rule while the backend is not healthy. Fallbacks have no share of
// their own. If all backends are fallbacks, none is.
func (r *resolver) withFallbacks(all []ir.WeightedBackend) []ir.WeightedBackend {
	var first []ir.WeightedBackend
	var fallbacks []ir.Backend
	for _, b := range all {
		switch {
		case !backend.IsFallback(r.view, r.in.Objects, b.Backend):
			first = append(first, b)
		case b.Weight > 0:
			fallbacks = append(fallbacks, b.Backend)
		}
	}
	if len(first) == 0 || len(first) == len(all) {
		return all
	}
	for i := range first {
		if b := &first[i]; !b.Backend.IsZero() && len(fallbacks) > 0 {
			b.Backend = ir.Failover(append([]ir.Backend{b.Backend}, fallbacks...)...)
		}
	}
	return first
}

// fallbackOf reports whether one of several backends is a fallback.
func fallbackOf(v *store.View, in Inputs, all []ir.StreamBackend) bool {
	return len(all) > 1 && slices.ContainsFunc(all, func(b ir.StreamBackend) bool { return backend.IsFallback(v, in.Objects, b.Backend) })
}
