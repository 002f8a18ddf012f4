package xds

import "strings"

// Delta xDS allows to split a response. So a response is cut into parts of moderate size. The next part is sent when the proxy has
// requested something of the type or answered, which it does for each part. A type is answered when all parts are. A NACK of a part
// concerns that part.

const (
	// maxPart is the maximum size of a part in bytes, unless one resource is larger.
	maxPart = 4 << 20
	// maxScopes is the same for scopes. Envoy's main thread does nothing else while it reads a part, and a worker then frees what the part
	// replaced before it serves the next request. See decision 25.
	maxScopes = 512 << 10
	// maxListeners is the same for listeners. They are cut only if there is no other way: Envoy takes over the port of a listener that is
	// removed in the same response, and is ready to serve after the first response.
	maxListeners = 128 << 20
	// maxResource is the maximum size of a resource. Its probes are a little larger together, and must be below the limit of gRPC.
	maxResource = 256 << 20
	// envelope is about what the protocol adds to a resource: two lengths, a version and a type URL.
	envelope = 160
)

func (t Type) partLimit() int {
	switch t {
	case Listener:
		return maxListeners
	case Scope:
		return maxScopes
	default:
		return maxPart
	}
}

// send passes a response to the stream, or its first part.
func (s *stream) send(t Type, r *response) {
	own := &s.subscriptions[t]
	s.leaveOut(t, r)
	own.parts = r.cut(t.partLimit())
	s.sendPart(t)
}

// sendPart passes the next part of a response to the stream. Clusters are followed by their endpoints.
func (s *stream) sendPart(t Type) {
	own := &s.subscriptions[t]
	part := own.parts[0]
	if own.parts = own.parts[1:]; len(own.parts) == 0 {
		own.parts = nil
	}
	if t == Cluster {
		s.repeatEndpoints(part)
	}
	own.send(part)
	if t == Cluster {
		s.serve(Endpoints)
	}
}

// sendRest continues a response that was cut.
func (s *stream) sendRest(t Type) {
	if own := &s.subscriptions[t]; len(own.parts) > 0 && own.open() {
		s.sendPart(t)
	}
}

// cut returns the parts of a response: removals first, then resources. Responses with probes are not cut.
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
	parts, size := []*response{newResponse(r.typ)}, 0
	next := func(more int) *response {
		if size > 0 && size+more > limit {
			parts, size = append(parts, newResponse(r.typ)), 0
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

// leaveOut removes resources that are too large to be sent from a response. The proxy keeps what it has, as if it had NACKed them. An
// attempt would end the stream, and each one after it.
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
		s.logger.Error("resource is too large to be sent",
			"group", s.group.id.String(), "type", t.String(), "name", name, "bytes", resource.size())
		s.metrics.nacks.WithLabelValues(t.String()).Inc()
		s.subscriptions[t].nacked[name] = resource.Version()
		s.reportTooLarge(t, resource)
	}
}

// reportTooLarge reports a resource that is not sent. A scope with one virtual host can be replaced; nothing replaces other resources.
func (s *stream) reportTooLarge(t Type, resource versioned) {
	nack := NACK{Type: t, Name: resource.label(), Version: resource.Version(), Reason: "it is too large to be sent"}
	settled := settledNACK{version: resource.Version(), reported: true}
	if t == Scope || t == RouteTable {
		table, domain, _ := strings.Cut(nack.Name, scopeSeparator)
		key := hostKey{table, domain}
		if host := s.group.host(key); t == Scope && host != nil && domain != anyHost && s.rejected[key].version != host.version {
			nack.Type, nack.Table, nack.Name, nack.Version, nack.Filters = VirtualHost, table, domain, host.version, true
			s.rejects(key, rejection{version: host.version})
			s.observer.NACKed(s.identity, nack)
			return
		}
		// It is not known which part of it is the cause.
		nack.Type, nack.Name, nack.Version = RouteTable, table, ""
		settled.reported = false
	}
	s.settle(t, resource.label(), settled)
	s.observer.NACKed(s.identity, nack)
}

// drop removes a resource from a response.
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
