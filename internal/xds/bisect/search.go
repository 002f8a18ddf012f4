package bisect

import (
	"maps"
	"slices"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
)

const (
	// maxProbes is the number of probe listeners in one step.
	maxProbes = 16
	// maxCulprits bounds the result of one search. The next NACK starts a search for the rest.
	maxCulprits = 64
)

// Host is a virtual host that may be a culprit.
type Host struct {
	Domain, Version string
	// Config is the serialized VirtualHost.
	Config []byte
}

// Culprit is a virtual host, or the part of one, that the proxy rejects.
type Culprit struct {
	Domain, Version string
	// Routes are the names of the rejected routes.
	Routes []string
	// Filters reports that the proxy rejects the filter configuration of the host itself, not a route.
	Filters bool
	// Together reports that the proxy accepts each of Routes alone, but not all of them in one host.
	Together bool
	Reason   string
}

// Search narrows a NACKed route configuration down to its culprits. It is not safe for concurrent use.
type Search struct {
	// header is the serialized RouteConfiguration without virtual hosts.
	header []byte
	reason string
	// hosts returns the candidates. It is nil after the first step.
	hosts func() []Host

	// pending are sets of parts to probe, probed those in the probes of the current step.
	pending, probed [][]part
	culprits        []part
	// candidates are all hosts of the search. The proxy rejects at least one of them.
	candidates []part
	// split are the rejected hosts whose routes are probed one by one, until one of these is found to be a culprit.
	split map[string]part
	// probesHeader reports that the first step probes the header without hosts, and headerRejected that the proxy rejects it.
	probesHeader, headerRejected bool
}

// part is a virtual host, a virtual host with one of its routes, or a virtual host with its filter configuration alone.
type part struct {
	domain  string
	version string
	host    *routev3.VirtualHost
	// single reports that the host was split, filters that this is the part without routes.
	single  bool
	filters bool
	// together reports that the proxy rejects none of the routes alone.
	together bool
	reason   string
}

// New returns a search among hosts, which the first step calls once. The header is the serialized RouteConfiguration without virtual
// hosts, and reason is the text of the NACK.
func New(header []byte, hosts func() []Host, reason string) *Search {
	return &Search{header: header, hosts: hosts, reason: reason, split: map[string]part{}}
}

// ProbeHeader lets the first step probe the header without hosts too. It is for a header that the proxy has not acknowledged.
func (s *Search) ProbeHeader() { s.probesHeader = true }

// HeaderRejected reports whether the proxy rejects the header without hosts. There are no culprits then.
func (s *Search) HeaderRejected() bool { return s.headerRejected }

// Next evaluates the answer to the probes of the step before and returns the probes of the next step, none if the search is complete. The
// answer is the text of the NACK, empty for an ACK; the first step has none. Next may be slow: it reads and builds routes.
func (s *Search) Next(answer string) []*listenerv3.Listener {
	if s.hosts != nil {
		s.read()
	} else {
		s.narrow(answer)
	}
	if len(s.culprits) < maxCulprits {
		count := min(len(s.pending), maxProbes)
		s.probed, s.pending = s.pending[:count], s.pending[count:]
	}
	probes := make([]*listenerv3.Listener, 0, len(s.probed))
	for i, parts := range s.probed {
		probes = append(probes, probeListener(i, s.header, parts))
	}
	return probes
}

// read parses the candidates.
func (s *Search) read() {
	var parts []part
	for _, h := range s.hosts() {
		host := &routev3.VirtualHost{}
		if proto.Unmarshal(h.Config, host) == nil {
			parts = append(parts, part{domain: h.Domain, version: h.Version, host: host})
		}
	}
	s.hosts = nil
	s.pending = chunks(parts)
	if s.probesHeader {
		s.pending = append([][]part{nil}, s.pending...)
	}
	for _, whole := range parts {
		whole.together, whole.reason = true, s.reason
		s.candidates = append(s.candidates, whole)
	}
}

// chunks cuts a list into at most maxProbes lists of about the same length.
func chunks(parts []part) [][]part {
	if len(parts) == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(parts, (len(parts)+maxProbes-1)/maxProbes))
}

// narrow splits the rejected sets of parts, down to single routes.
func (s *Search) narrow(answer string) {
	probed := s.probed
	s.probed = nil
	rejections := rejectedProbes(len(probed), answer)
	for i, parts := range probed {
		reason, rejected := rejections[i]
		switch {
		case !rejected:
		case len(parts) == 0:
			s.headerRejected = true
		case len(parts) > 1:
			s.pending = append(s.pending, chunks(parts)...)
		case parts[0].single || len(routesOf(parts[0].host)) < 2 && len(parts[0].host.GetTypedPerFilterConfig()) == 0:
			parts[0].reason = reason
			s.culprits = append(s.culprits, parts[0])
			delete(s.split, parts[0].domain)
		default:
			parts[0].reason = reason
			s.split[parts[0].domain] = parts[0]
			s.pending = append(s.pending, chunks(splitHost(parts[0]))...)
		}
	}
	if s.headerRejected {
		// It is in all probes, so they tell nothing about hosts.
		s.pending, s.culprits, s.candidates = nil, nil, nil
		clear(s.split)
	}
}

// rejectedProbes maps the number of each rejected probe to the reason. A NACK of a single probe need not name it.
func rejectedProbes(count int, answer string) map[int]string {
	reasons := map[int]string{}
	if answer == "" {
		return reasons
	}
	numbers := map[string]int{}
	for i := range count {
		numbers[ProbeName(i)] = i
	}
	named := slices.Collect(maps.Keys(numbers))
	if count != 1 {
		named = Named(answer, func(name string) bool { _, sent := numbers[name]; return sent })
	}
	for _, name := range named {
		reasons[numbers[name]] = ReasonOf(name, answer)
	}
	return reasons
}

// Culprits returns the result of a complete search. It is empty if no host was a candidate, or if the header is rejected.
func (s *Search) Culprits() []Culprit {
	parts := slices.Clone(s.culprits)
	for _, domain := range slices.Sorted(maps.Keys(s.split)) {
		// The proxy accepts each route alone, but not all of them.
		whole := s.split[domain]
		whole.together = true
		parts = append(parts, whole)
	}
	if len(parts) == 0 {
		parts = s.candidates[:min(len(s.candidates), maxCulprits)]
	}
	var culprits []Culprit
	for _, p := range parts {
		c := Culprit{Domain: p.domain, Version: p.version, Filters: p.filters, Together: p.together, Reason: p.reason}
		for _, route := range routesOf(p.host) {
			c.Routes = append(c.Routes, route.GetName())
		}
		culprits = append(culprits, c)
	}
	return culprits
}
