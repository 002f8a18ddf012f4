package xds

import "strings"

// Delta xDS may say in several responses what could be said in one. So a response is cut into parts of moderate size, of which the next one
// is handed over when the proxy has asked for something of the type or answered, which it does for each. A type is answered when all parts
// are. A NACK of a part concerns that part.

const (
	// maxPart is how large a part of a response may be in bytes, unless it is one resource that is larger.
	maxPart = 4 << 20
	// maxListeners is the same for listeners. They are cut only where there is no other way: Envoy takes over the port of a listener that
	// leaves in the same response, and is ready to serve when it has the first response.
	maxListeners = 128 << 20
	// maxResource is how large a resource may be at all. Probes of it are a little larger together, and must be less than what gRPC sends.
	maxResource = 256 << 20
	// envelope is about what the protocol adds to a resource: two lengths, a version and the URL of its type.
	envelope = 160
)

func (t Type) partLimit() int {
	if t == Listener {
		return maxListeners
	}
	return maxPart
}

// hand passes a response to the stream, or the first part of it.
func (s *stream) hand(t Type, r *response) {
	own := &s.subscriptions[t]
	s.leaveOut(t, r)
	r.salt = own.salt
	own.parts = r.cut(t.partLimit())
	s.handPart(t)
}

// handPart passes the next part of a response to the stream. Clusters are followed by their endpoints.
func (s *stream) handPart(t Type) {
	own := &s.subscriptions[t]
	part := own.parts[0]
	if own.parts = own.parts[1:]; len(own.parts) == 0 {
		own.parts = nil
	}
	if t == Cluster {
		s.repeatEndpoints(part)
	}
	own.hand(part)
	if t == Cluster {
		s.serve(Endpoints)
	}
}

// handRest goes on with a response that was cut.
func (s *stream) handRest(t Type) {
	if own := &s.subscriptions[t]; len(own.parts) > 0 && own.open() {
		s.handPart(t)
	}
}

// cut gives the parts of a response: what it removes, and then what it brings. What makes a proxy judge probes is not cut.
func (r *response) cut(limit int) []*response {
	total := 0
	for _, name := range r.removed {
		total += len(name)
	}
	for _, resource := range r.resources {
		total += resource.size()
	}
	if r.probe || total <= limit {
		return []*response{r}
	}
	parts, size := []*response{r.part()}, 0
	next := func(more int) *response {
		if size > 0 && size+more > limit {
			parts, size = append(parts, r.part()), 0
		}
		size += more
		return parts[len(parts)-1]
	}
	for _, name := range r.removed {
		next(len(name)).remove(name)
	}
	for _, resource := range r.resources {
		next(resource.size()).add(resource.label(), resource)
	}
	return parts
}

func (r *response) part() *response {
	part := newResponse(r.typ)
	part.salt = r.salt
	return part
}

// leaveOut takes out of a response what is too large to be sent at all. The proxy keeps what it has, as if it had refused that: to try
// would end the stream, and the next one, for ever.
func (s *stream) leaveOut(t Type, r *response) {
	for _, resource := range r.resources {
		if resource.size() <= maxResource {
			continue
		}
		r.drop(resource)
		if r.probe {
			continue
		}
		name := resource.label()
		s.logger.Error("resource is too large to be sent", "gateway", s.group.name, "type", t.String(), "name", name, "bytes", resource.size())
		s.metrics.refusals.WithLabelValues(t.String()).Inc()
		s.subscriptions[t].doubted[name] = resource.Version()
		refusal := Refusal{Type: t, Name: name, Version: resource.Version(), Reason: "it is too large to be sent"}
		if t == Scope {
			refusal.Type = RouteTable
			refusal.Name, _, _ = strings.Cut(name, scopeSeparator)
		}
		s.observer.Refused(s.identity, refusal)
	}
}

// drop takes a resource out of a response.
func (r *response) drop(resource versioned) {
	kept := r.resources
	r.resources, r.named, r.tables = nil, nil, nil
	delete(r.versions, resource.label())
	for _, other := range kept {
		if other != resource {
			r.add(other.label(), other)
		}
	}
}
