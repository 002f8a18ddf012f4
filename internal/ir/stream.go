package ir

import "slices"

// Stream sends whole connections, or the datagrams of one client, to one of Backends.
type Stream struct {
	// Route tells people where it comes from: `<kind>/<namespace>/<name>`.
	Route    string
	Backends []StreamBackend
}

// Leads says whether any client gets through to a backend.
func (s Stream) Leads() bool {
	return slices.ContainsFunc(s.Backends, func(b StreamBackend) bool { return !b.Backend.IsZero() && b.Weight > 0 })
}

// Passthrough is the stream for bytes that the client has encrypted for the backend.
func (s Stream) Passthrough() *Stream {
	passed := &Stream{Route: s.Route}
	for _, b := range s.Backends {
		passed.Backends = append(passed.Backends, StreamBackend{Backend: b.Backend.Passthrough(), Weight: b.Weight})
	}
	return passed
}

// With is the stream to a variant of its backends.
func (s *Stream) With(variant string) *Stream {
	if s == nil || variant == "" {
		return s
	}
	varied := &Stream{Route: s.Route}
	for _, b := range s.Backends {
		varied.Backends = append(varied.Backends, StreamBackend{Backend: b.Backend.With(variant), Weight: b.Weight})
	}
	return varied
}

// StreamBackend is a share of the connections.
type StreamBackend struct {
	// Backend is zero if the reference cannot be resolved. Its share is refused.
	Backend Backend
	Weight  uint32
}
