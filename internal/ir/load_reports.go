package ir

import "slices"

// HidingReports is the host where responses of the backends that are hidden have no reports of their load.
func (h VirtualHost) HidingReports(hidden func(Backend) bool) VirtualHost {
	hides := func(b WeightedBackend) bool {
		return !b.Backend.IsZero() && (hidden(b.Backend) || slices.ContainsFunc(b.Backend.Members(), hidden))
	}
	shared := true
	for i := range h.Rules {
		if h.Rules[i].Forward == nil || !slices.ContainsFunc(h.Rules[i].Forward.Backends, hides) {
			continue
		}
		if shared {
			h.Rules, shared = slices.Clone(h.Rules), false
		}
		forward := *h.Rules[i].Forward
		forward.Backends = slices.Clone(forward.Backends)
		for j := range forward.Backends {
			forward.Backends[j].HideReports = hides(forward.Backends[j])
		}
		h.Rules[i].Forward = &forward
	}
	return h
}
