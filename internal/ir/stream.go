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
	return slices.ContainsFunc(s.Backends, func(b StreamBackend) bool { return b.Backend != "" && b.Weight > 0 })
}

// Passthrough is the stream for bytes that the client has encrypted for the backend.
func (s Stream) Passthrough() *Stream {
	passed := &Stream{Route: s.Route}
	for _, b := range s.Backends {
		passed.Backends = append(passed.Backends, StreamBackend{Backend: PassthroughName(b.Backend), Weight: b.Weight})
	}
	return passed
}

// PassthroughName is the [Backend.Name] for bytes that the client has encrypted for the backend.
func PassthroughName(name string) string {
	b, ok := ParseBackend(name)
	if !ok {
		return name
	}
	b.Protocol = BackendPassthrough
	return b.Name()
}

// StreamBackend is a share of the connections.
type StreamBackend struct {
	// Backend is a [Backend.Name]; empty means the reference can not be resolved and its share is refused.
	Backend string
	Weight  uint32
}
