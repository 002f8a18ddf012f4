package xds

import (
	"maps"
	"strings"
)

// EmptyState is the state of a group without resources.
var EmptyState = digest{}.String()

// markACKed records that the proxy acknowledged a response.
func (s *subscription) markACKed(d *delivery) {
	for name := range d.versions {
		delete(s.nacked, name)
		delete(s.unattributed, name)
		delete(s.limited, name)
	}
	s.markUsed(d)
	maps.Copy(s.accepted, d.tables)
	for _, resource := range d.named {
		resource.acked.Store(true)
	}
}

// markNACKed records that the proxy NACKed a version of a resource, so it still has the previous one. It reports whether that version
// is still wanted.
func (s *subscription) markNACKed(name, version string) bool {
	if s.sent[name] != version {
		return false
	}
	if _, going := s.removed[name]; going {
		// If it comes back, it has to be sent again.
		s.sent[name] = ""
		return false
	}
	s.nacked[name] = version
	return true
}

// forgetNACK drops the NACK of a resource that is gone, and reports whether there was one, or whether it waited for a cluster.
func (s *subscription) forgetNACK(name string) bool {
	_, nacked := s.nacked[name]
	_, unattributed := s.unattributed[name]
	_, held := s.held[name]
	if nacked {
		// If it comes back, it has to be sent again.
		s.sent[name] = ""
	}
	delete(s.nacked, name)
	delete(s.unattributed, name)
	delete(s.held, name)
	delete(s.limited, name)
	return nacked || unattributed || held
}

// hasNACKed reports whether the proxy still uses, or may still use, a scope, listener or route table that should have been replaced.
func (s *stream) hasNACKed() bool {
	for _, t := range referrers {
		if own := &s.subscriptions[t]; len(own.nacked)+len(own.unattributed)+len(own.held) > 0 {
			return true
		}
	}
	return false
}

// awaitsAttribution reports whether a type has to wait until the culprit of a NACKed scope is known. A listener that starts to use a
// route table would have no hosts: the table has the same hosts as the scopes, so Envoy would reject all of it. A proxy without
// listeners gets them once the scope is known, because probes are listeners too. It does not get them without a host that waits for a
// cluster, because wider hosts would answer.
func (s *stream) awaitsAttribution(t Type) bool {
	scopes := &s.subscriptions[Scope]
	switch t {
	case Listener:
		begun := s.subscriptions[t].begun
		return scopes.attributing() || s.awaitsSubstitute(Scope) && begun || len(scopes.held) > 0 && !begun
	case RouteTable:
		return len(scopes.unattributed) > 0 || s.awaitsSubstitute(Scope)
	default:
		return false
	}
}

// settledNACK is a NACKed version that nothing replaces. It is reported if its objects know that it is rejected.
type settledNACK struct {
	version  string
	reported bool
}

// settle records that nothing replaces a NACKed version. The proxy keeps what it has of it, and no other resource waits for it.
func (s *stream) settle(t Type, name string, settled settledNACK) {
	if s.subscriptions[t].nacked[name] != settled.version {
		return
	}
	if s.settled[t] == nil {
		s.settled[t] = map[string]settledNACK{}
	}
	s.settled[t][name] = settled
	delete(s.subscriptions[t].unattributed, name)
}

// awaitsSubstitute reports whether another version of something that the proxy NACKed is to come.
func (s *stream) awaitsSubstitute(t Type) bool {
	nacked := s.subscriptions[t].nacked
	for name, settled := range s.settled[t] {
		if nacked[name] != settled.version {
			delete(s.settled[t], name)
		}
	}
	return len(nacked) > len(s.settled[t])
}

// lacks reports whether the proxy lacks a version of a type, and its objects do not know it.
func (s *stream) lacks(t Type) bool {
	own := &s.subscriptions[t]
	if len(own.unattributed)+len(own.held) > 0 || s.awaitsSubstitute(t) {
		return true
	}
	for _, settled := range s.settled[t] {
		if !settled.reported {
			return true
		}
	}
	return false
}

// headerState is the version of a table's header that the proxy acknowledged last, and the one that it rejects.
type headerState struct{ acked, rejected string }

// noteHeader records what is known about the header of a table.
func (s *stream) noteHeader(table string, state headerState) {
	if s.headers == nil {
		s.headers = map[string]headerState{}
	}
	s.headers[table] = state
}

// acceptHeaders records that the proxy acknowledged scopes.
func (s *stream) acceptHeaders(d *delivery) {
	for _, resource := range d.named {
		if own, ok := resource.content.(*scope); ok {
			table, _, _ := strings.Cut(resource.name, scopeSeparator)
			if s.headers[table].acked != own.header.version {
				s.noteHeader(table, headerState{acked: own.header.version})
			}
		}
	}
}

// attributing reports whether the culprits among several resources that were NACKed together are not known yet.
func (s *subscription) attributing() bool {
	for name := range s.unattributed {
		if _, found := s.nacked[name]; !found {
			return true
		}
	}
	return false
}

// pin records what the proxy has while it still uses something that should have been replaced, which may refer to all of it. It cannot
// refer to what comes later.
func (s *stream) pin() {
	if !s.hasNACKed() {
		s.pinned = nil
		return
	}
	if s.pinned != nil {
		return
	}
	s.pinned = &[wireTypes]set{}
	for _, t := range removalOrder {
		s.pinned[t] = set{}
		for name := range s.subscriptions[t].sent {
			s.pinned[t][name] = struct{}{}
		}
	}
}

// unpin ends that for scopes and route tables that are sent again. They may refer to newer resources, which must not be removed before
// them.
func (s *stream) unpin(t Type, r *response) {
	if s.pinned == nil || t != Scope && t != RouteTable {
		return
	}
	for name := range r.versions {
		delete(s.pinned[t], name)
	}
}

// isPinned returns whether names of a type must not be removed now.
func (s *stream) isPinned(t Type) func(name string) bool {
	s.pin()
	return func(name string) bool {
		if s.pinned == nil || (t == Scope || t == RouteTable) && !s.pinsHosts() {
			return false
		}
		_, kept := s.pinned[t][name]
		return kept
	}
}

// pinsHosts reports whether what the proxy should have replaced may refer to scopes and route tables. A scope or table that only waits for
// a cluster does not.
func (s *stream) pinsHosts() bool {
	for _, t := range referrers {
		if own := &s.subscriptions[t]; len(own.nacked)+len(own.unattributed) > 0 {
			return true
		}
	}
	return len(s.subscriptions[Listener].held) > 0
}

// report reports to the observer that the proxy holds another state.
func (s *stream) report() {
	if s.reported && !s.left && s.ackedState == s.cycle.state || !s.holds() {
		return
	}
	s.ackedState, s.reported, s.left = s.cycle.state, true, false
	s.observer.Holds(s.identity, s.ackedState.String())
}

// leave reports to the observer that an update cycle changes the state of the proxy. The previous state may come back before or after
// the proxy has left it.
func (s *stream) leave() {
	if s.reported && !s.left && s.cycle.state != s.ackedState {
		s.left = true
		s.observer.Leaves(s.identity)
	}
}

// holds reports whether the proxy has everything of the update cycle, except for NACKed versions of which the objects are reported: it has
// acknowledged all of it, and was sent what its listeners request. A proxy acknowledges a new listener before it requests that.
func (s *stream) holds() bool {
	if s.reporting || s.cycle.phase != idle && s.cycle.phase != removing {
		return false
	}
	listeners := &s.subscriptions[Listener]
	if !listeners.joined || !s.subscriptions[Cluster].joined {
		return false
	}
	if s.lacks(RouteTable) || s.lacks(Scope) {
		return false
	}
	for _, t := range []Type{Cluster, Scope, Listener, RouteTable, Secret} {
		if !s.answered(t) {
			return false
		}
	}
	for _, l := range s.cycle.listeners {
		if listeners.nacked[l.name] != l.Version() && !s.sentNeeds(l) {
			return false
		}
	}
	return true
}

// sentNeeds reports whether the proxy was sent what a listener requests.
func (s *stream) sentNeeds(listener *namedResource) bool {
	for _, table := range listener.needs.tables {
		if wanted := s.cycle.tables[table]; wanted != nil && s.subscriptions[RouteTable].sent[table] != wanted.version {
			return false
		}
	}
	if listener.needs.scopes && !s.subscriptions[Scope].joined {
		return false
	}
	for _, secret := range listener.needs.secrets {
		if _, sent := s.subscriptions[Secret].sent[secret]; !sent && s.group.lookup(Secret, secret) != nil {
			return false
		}
	}
	return true
}
