package xds

import "maps"

// EmptyState is that of a Gateway whose proxies are to have nothing.
var EmptyState = digest{}.String()

// trust notes that the proxy took a response.
func (s *subscription) trust(d *delivery) {
	for name := range d.versions {
		delete(s.doubted, name)
		delete(s.careful, name)
	}
	if !s.recorded {
		s.salt = ""
	}
	maps.Copy(s.accepted, d.tables)
	for _, resource := range d.named {
		resource.taken.Store(true)
	}
}

// doubt notes that the proxy did not take a version of a resource, so it still has what it had before. It says whether that version is
// still wanted.
func (s *subscription) doubt(name, version string) bool {
	if s.sent[name] != version {
		return false
	}
	if _, going := s.removed[name]; going {
		// If it comes back, it has to be sent again.
		s.sent[name] = ""
		return false
	}
	s.doubted[name] = version
	return true
}

// settle notes that it no longer matters whether the proxy took a resource, and says whether that was open.
func (s *subscription) settle(name string) bool {
	_, doubted := s.doubted[name]
	_, careful := s.careful[name]
	if doubted {
		// If it comes back, it has to be sent again.
		s.sent[name] = ""
	}
	delete(s.doubted, name)
	delete(s.careful, name)
	return doubted || careful
}

// doubtful says whether the proxy goes on, or may go on, with a scope, listener or route table that should have been replaced.
func (s *stream) doubtful() bool {
	for _, t := range users {
		if own := &s.subscriptions[t]; len(own.doubted)+len(own.careful) > 0 {
			return true
		}
	}
	return false
}

// awaitsVerdict says whether a type has to wait until it is known what becomes of a refused scope. A listener that looks for its hosts in
// a route table from now on would have none of them: the table has the same hosts as the scopes, and would be refused as a whole. A proxy
// that has had no listener yet is given them once the scope is found, since it is in listeners that it is asked what is wrong with it.
func (s *stream) awaitsVerdict(t Type) bool {
	scopes := &s.subscriptions[Scope]
	switch t {
	case Listener:
		return scopes.searching() || len(scopes.doubted) > 0 && s.subscriptions[t].begun
	case RouteTable:
		return len(scopes.careful)+len(scopes.doubted) > 0
	default:
		return false
	}
}

// searching says whether it is not known yet which of several resources that were refused together are to blame.
func (s *subscription) searching() bool {
	for name := range s.careful {
		if _, found := s.doubted[name]; !found {
			return true
		}
	}
	return false
}

// keep notes what the proxy has while it goes on with something that should have been replaced: that may use all of it. What comes later it
// can not use.
func (s *stream) keep() {
	if !s.doubtful() {
		s.kept = nil
		return
	}
	if s.kept != nil {
		return
	}
	s.kept = &[wireTypes]set{}
	for _, t := range removalOrder {
		s.kept[t] = set{}
		for name := range s.subscriptions[t].sent {
			s.kept[t][name] = struct{}{}
		}
	}
}

// release ends the keeping of scopes and route tables that are sent anew: they may use what has come since, and that must not be removed
// before them.
func (s *stream) release(t Type, r *response) {
	if s.kept == nil || t != Scope && t != RouteTable {
		return
	}
	for name := range r.versions {
		delete(s.kept[t], name)
	}
}

// keeps says of names of a type whether they must not be removed now.
func (s *stream) keeps(t Type) func(name string) bool {
	s.keep()
	return func(name string) bool {
		if s.kept == nil {
			return false
		}
		_, kept := s.kept[t][name]
		return kept
	}
}

// report tells the observer when the proxy has come to have another state.
func (s *stream) report() {
	if s.reported && !s.left && s.held == s.round.state || !s.holds() {
		return
	}
	s.held, s.reported, s.left = s.round.state, true, false
	s.observer.Holds(s.identity, s.held.String())
}

// leave tells the observer when a round takes the proxy to another state than it has. A state may come back before the proxy has left it,
// or after.
func (s *stream) leave() {
	if s.reported && !s.left && s.round.state != s.held {
		s.left = true
		s.observer.Leaves(s.identity)
	}
}

// holds says whether the proxy has everything of the round: all is acknowledged, and whatever its listeners need to serve has been asked
// for and given. A proxy acknowledges a new listener before it asks for that.
func (s *stream) holds() bool {
	if s.round.phase != idle && s.round.phase != removing {
		return false
	}
	listeners := &s.subscriptions[Listener]
	if !listeners.joined || !s.subscriptions[Cluster].joined {
		return false
	}
	for _, t := range []Type{RouteTable, Scope} {
		if own := &s.subscriptions[t]; len(own.careful)+len(own.doubted) > 0 {
			return false
		}
	}
	for _, t := range []Type{Cluster, Scope, Listener, RouteTable, Secret} {
		if !s.answered(t) {
			return false
		}
	}
	for _, l := range s.round.listeners {
		if listeners.doubted[l.name] != l.Version() && !s.supplied(l) {
			return false
		}
	}
	return true
}

// supplied says whether the proxy was given what a listener needs.
func (s *stream) supplied(listener *named) bool {
	for _, table := range listener.needs.tables {
		if wanted := s.round.tables[table]; wanted != nil && s.subscriptions[RouteTable].sent[table] != wanted.version {
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
