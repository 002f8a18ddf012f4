package xds

import (
	"maps"
	"slices"
)

// round is one step of a proxy from what it has to what it should have, and the reason why no change drops a request:
//
//  1. clusters are sent, and the proxy acknowledges them, which Envoy does when they are warm;
//  2. only then scopes, listeners and route tables are sent, which may use these clusters; see anchor.go for the proxies that need scopes once more;
//  3. when the proxy has acknowledged those too, what they no longer use is removed.
//
// What a round says of listeners and route tables is fixed when it begins. So it ends however often things change meanwhile, and a
// route table never names a cluster that came after it; whatever changed meanwhile is in the next round. Each stream has a round of
// its own, so a proxy that does not answer holds back nobody else. Endpoints and secrets are not part of it: a proxy asks for them
// when it needs them, and acknowledges a cluster only after it has them.
type round struct {
	phase phase
	// held are the responses whose turn has not come.
	held [wireTypes]*response
	// scopesAgain is sent behind the listeners; see anchor.go.
	scopesAgain *response
	// removals are the names to remove in the last phase.
	removals [wireTypes][]string
	// tables are the route tables as they were when the round began, and usable those of the last round whose clusters are warm.
	tables, usable map[string]*composedTable
	// listeners are those of the group when the round began.
	listeners []*named
	// state is that of the group when the round began.
	state digest
}

type phase uint8

const (
	idle phase = iota
	// sendingClusters ends when the proxy has acknowledged them.
	sendingClusters
	// sendingUsers ends when listeners and route tables are handed over.
	sendingUsers
	// removing begins when the proxy has acknowledged those.
	removing
)

var (
	// users is the order in which they are sent. A listener may be about to look for virtual hosts in scopes that were in a table before.
	users = []Type{Scope, Listener, RouteTable}
	// removalOrder is that in which a proxy learns of what it needs no more.
	removalOrder = []Type{RouteTable, Scope, Secret, Cluster}
)

// step goes on with the round as far as one phase, and says whether it could.
func (s *stream) step() bool {
	switch s.round.phase {
	case idle:
		// The first listeners that a proxy is sent are its own: it is ready when it has them, and would be with nothing but probes.
		if len(s.searches) > 0 && s.subscriptions[Listener].begun {
			return s.stepSearch()
		}
		return s.begin()
	case sendingClusters:
		if !s.handHeld(Cluster) || !s.answered(Cluster) {
			return false
		}
		s.round.usable = s.round.tables
		s.round.phase = sendingUsers
	case sendingUsers:
		if !s.handUsers() || !s.handScopesAgain() {
			return false
		}
		s.round.phase = removing
	case removing:
		s.report()
		if !s.remove() {
			return false
		}
		s.round.phase = idle
	}
	return true
}

// handUsers hands over scopes, listeners and route tables, and says whether none are left.
func (s *stream) handUsers() bool {
	for _, t := range users {
		if s.round.held[t] != nil && t != Scope && !s.answered(Scope) {
			return false
		}
		if s.round.held[t] != nil && s.awaitsVerdict(t) {
			s.subscriptions[t].takeBack(s.round.held[t])
			s.round.held[t] = nil
		}
		if !s.handHeld(t) {
			return false
		}
	}
	return true
}

// begin starts a round if there is anything to do. A proxy that reconnects asks for all types before it answers anything, except for
// clusters while it warms some: so there is no round before it has asked for clusters, and nothing is removed before its first answer, when
// it is known what it uses.
func (s *stream) begin() bool {
	if !s.subscriptions[Cluster].active {
		return false
	}
	changes, removals := s.holdChanges(), s.planRemovals()
	found := changes || removals || s.round.state != s.group.state
	if !found && len(s.subscriptions[RouteTable].asked) == 0 {
		return false
	}
	tables := s.group.composedTables()
	if !found && maps.Equal(tables, s.round.usable) {
		return false
	}
	s.round.tables, s.round.listeners, s.round.state, s.round.phase = tables, s.group.listeners(), s.group.state, sendingClusters
	s.round.scopesAgain = s.scopesBehindListeners()
	s.leave()
	return true
}

// holdChanges makes the responses of the round, and says whether there are any.
func (s *stream) holdChanges() bool {
	found := false
	for _, t := range []Type{Cluster, Scope, Listener, RouteTable} {
		own := &s.subscriptions[t]
		if !own.active || s.awaitsVerdict(t) {
			continue
		}
		own.joined = true
		r := newResponse(t)
		if t.hasWildcard() {
			own.takeAnswers(r, s.lookup(t))
		}
		own.takeChanges(r, s.lookup(t))
		if !t.removedLate() {
			own.takeRemovals(r, slices.Collect(maps.Keys(own.removed)))
		}
		s.round.held[t] = own.finish(r)
		s.release(t, r)
		found = found || s.round.held[t] != nil
	}
	return found
}

// planRemovals lists what the round removes in the end, and says whether there is anything to remove, now or after the proxy's first
// answer.
func (s *stream) planRemovals() bool {
	found := false
	for _, t := range removalOrder {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.subscriptions[t].removed)), s.keeps(t))
		if found = found || len(names) > 0; s.settled {
			s.round.removals[t] = names
		}
	}
	if found && !s.settled && s.round.held[Cluster] == nil {
		// An empty response makes the proxy answer.
		s.round.held[Cluster] = newResponse(Cluster)
	}
	return found
}

// handHeld hands over the held response of a type, and says whether none is left.
func (s *stream) handHeld(t Type) bool {
	r := s.round.held[t]
	if r == nil {
		return true
	}
	own := &s.subscriptions[t]
	if !own.ready() {
		return false
	}
	s.round.held[t] = nil
	s.hand(t, r)
	return true
}

// answered says whether the proxy has answered everything of a type.
func (s *stream) answered(t Type) bool {
	own := &s.subscriptions[t]
	return len(own.unanswered) == 0 && len(own.parts) == 0
}

// remove hands over the removals, and says whether none are left.
func (s *stream) remove() bool {
	for _, t := range removalOrder {
		own := &s.subscriptions[t]
		if len(s.round.removals[t]) == 0 {
			continue
		}
		if !s.answered(Scope) || !s.answered(Listener) || !s.answered(RouteTable) {
			return false
		}
		if !own.ready() {
			return false
		}
		// What the proxy has refused meanwhile has not replaced what it uses.
		r := newResponse(t)
		own.takeRemovals(r, slices.DeleteFunc(s.round.removals[t], s.keeps(t)))
		s.round.removals[t] = nil
		if r = own.finish(r); r != nil {
			s.hand(t, r)
		}
	}
	return true
}

// answerTables answers for the route tables that the proxy asked for, which a listener that it was just given needs. They come from
// the last round whose clusters are warm.
func (s *stream) answerTables() {
	own := &s.subscriptions[RouteTable]
	if !own.waiting() || !own.ready() {
		return
	}
	r := newResponse(RouteTable)
	own.takeAnswers(r, func(name string) versioned {
		if table := s.round.usable[name]; table != nil {
			return table
		}
		return nil
	})
	for name, version := range r.versions {
		// What changed since that round, while the proxy waited, is for the next one.
		if now := s.group.lookup(RouteTable, name); now != nil && now.Version() != version {
			own.changed[name] = struct{}{}
		}
	}
	if len(r.versions) > 0 {
		s.hand(RouteTable, r)
	}
}
