package xds

import (
	"maps"
	"slices"
)

// updateCycle takes a proxy from what it has to what it should have, in an order that drops no request:
//
//  1. clusters are sent, and the proxy acknowledges them, which Envoy does when they are warm; see missing_clusters.go for what happens if
//     it does not;
//  2. only then scopes, listeners and route tables are sent, which may refer to these clusters; see anchor.go for proxies that need scopes
//     once more;
//  3. when the proxy has acknowledged those too, what they no longer refer to is removed.
//
// The content of a cycle is fixed when it begins, except that what names a missing cluster is taken out. So it ends however often things
// change meanwhile, and a route table never names a cluster that came after it; later changes are in the next cycle. Each stream has its
// own cycles, so a proxy that does not answer delays no other. Endpoints and secrets are not part of a cycle: a proxy requests them when it
// needs them, and acknowledges a cluster only after it has them.
type updateCycle struct {
	phase phase
	// pending are the responses that are to be sent.
	pending [wireTypes]*response
	// scopesAgain is sent behind the listeners; see anchor.go.
	scopesAgain *response
	// removals are the names to remove in the last phase.
	removals [wireTypes][]string
	// tables are the route tables when the cycle began, and usable those of the last cycle whose clusters are warm.
	tables, usable map[string]*composedTable
	// listeners are those of the group when the cycle began.
	listeners []*namedResource
	// state is that of the group when the cycle began.
	state digest
}

type phase uint8

const (
	idle phase = iota
	// sendingClusters ends when the proxy has acknowledged them, or after warmTimeout.
	sendingClusters
	// sendingReferrers ends when scopes, listeners and route tables are sent.
	sendingReferrers
	// removing begins when the proxy has acknowledged those.
	removing
)

var (
	// referrers are the types that refer to clusters, in the order in which they are sent. A listener may start to use scopes for hosts
	// that were in a table before.
	referrers = []Type{Scope, Listener, RouteTable}
	// removalOrder is the order in which unused resources are removed.
	removalOrder = []Type{RouteTable, Scope, Secret, Cluster}
)

// step continues the cycle by at most one phase, and reports whether it could.
func (s *stream) step() bool {
	switch s.cycle.phase {
	case idle:
		// The first listeners that a proxy gets are its own. Envoy is ready after the first ones, and with probes alone it would serve
		// nothing.
		if len(s.bisections) > 0 && s.subscriptions[Listener].begun {
			return s.stepBisection()
		}
		return s.begin()
	case sendingClusters:
		if !s.sendPending(Cluster) || !s.answered(Cluster) {
			if !s.clustersLate() {
				return false
			}
			s.goOnWithoutClusters()
		}
		s.cycle.usable = s.cycle.tables
		s.cycle.phase = sendingReferrers
	case sendingReferrers:
		if !s.sendReferrers() || !s.resendScopes() {
			return false
		}
		s.cycle.phase = removing
	case removing:
		s.report()
		if !s.remove() {
			return false
		}
		s.cycle.phase = idle
	}
	return true
}

// sendReferrers sends scopes, listeners and route tables, and reports whether none are left.
func (s *stream) sendReferrers() bool {
	for _, t := range referrers {
		if s.cycle.pending[t] != nil && t != Scope && !s.answered(Scope) {
			return false
		}
		if s.cycle.pending[t] != nil && s.awaitsAttribution(t) {
			s.subscriptions[t].takeBack(s.cycle.pending[t])
			s.cycle.pending[t] = nil
		}
		s.cycle.pending[t] = s.keepBack(t, s.cycle.pending[t])
		if !s.sendPending(t) {
			return false
		}
	}
	return true
}

// begin starts a cycle if there is anything to do. A proxy that reconnects requests all types before it answers anything, except for
// clusters while it warms some. So no cycle begins before it has requested clusters, and nothing is removed before its first answer,
// when its subscriptions are known.
func (s *stream) begin() bool {
	if !s.subscriptions[Cluster].active {
		return false
	}
	changes, removals := s.prepareChanges(), s.planRemovals()
	found := changes || removals || s.replaced || s.cycle.state != s.group.state
	s.replaced = false
	if !found && len(s.subscriptions[RouteTable].asked) == 0 {
		return false
	}
	tables := s.group.composedTables()
	if !found && maps.Equal(tables, s.cycle.usable) {
		return false
	}
	s.cycle.tables, s.cycle.listeners, s.cycle.state, s.cycle.phase = tables, s.group.listeners(), s.group.state, sendingClusters
	s.cycle.scopesAgain = s.scopesBehindListeners()
	s.leave()
	return true
}

// prepareChanges makes the responses of the cycle, and reports whether there are any.
func (s *stream) prepareChanges() bool {
	found := false
	for _, t := range []Type{Cluster, Scope, Listener, RouteTable} {
		own := &s.subscriptions[t]
		if t == Scope {
			s.findMissing()
		}
		if !own.active || s.awaitsAttribution(t) || t == Cluster && s.clustersLate() {
			continue
		}
		own.joined = true
		r := newResponse(t)
		if t.hasWildcard() {
			own.takeAnswers(r, s.lookup(t))
		}
		own.takeChanges(r, s.lookup(t), func(resource versioned, replaces bool) bool {
			// Envoy has to remove an old listener together with a new one on the same address.
			return t != Cluster && (t != Listener || len(own.removed) == 0) && s.waits(t, resource, replaces)
		})
		if !t.removedAfterACK() {
			own.takeRemovals(r, slices.Collect(maps.Keys(own.removed)))
		}
		s.cycle.pending[t] = own.finish(r)
		s.unpin(t, r)
		found = found || s.cycle.pending[t] != nil
	}
	return found
}

// planRemovals collects the removals of the cycle, and reports whether there are any, now or after the proxy's first answer.
func (s *stream) planRemovals() bool {
	found, late := false, s.clustersLate()
	if late && !s.answeredOnce {
		return false
	}
	for _, t := range removalOrder {
		if t == Cluster && late {
			s.cycle.removals[t] = nil
			continue
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.subscriptions[t].removed)), s.isPinned(t))
		if found = found || len(names) > 0; s.answeredOnce {
			s.cycle.removals[t] = names
		}
	}
	if found && !s.answeredOnce && s.cycle.pending[Cluster] == nil {
		// An empty response makes the proxy answer.
		s.cycle.pending[Cluster] = newResponse(Cluster)
	}
	return found
}

// sendPending sends the pending response of a type, and reports whether none is left.
func (s *stream) sendPending(t Type) bool {
	r := s.cycle.pending[t]
	if r == nil {
		return true
	}
	own := &s.subscriptions[t]
	if !own.ready() {
		return false
	}
	s.cycle.pending[t] = nil
	s.send(t, r)
	return true
}

// answered reports whether the proxy has answered everything of a type.
func (s *stream) answered(t Type) bool {
	own := &s.subscriptions[t]
	return len(own.unanswered) == 0 && len(own.parts) == 0
}

// remove sends the removals, and reports whether none are left.
func (s *stream) remove() bool {
	for _, t := range removalOrder {
		own := &s.subscriptions[t]
		if t == Cluster && s.clustersLate() {
			s.cycle.removals[t] = nil
		}
		if len(s.cycle.removals[t]) == 0 {
			continue
		}
		if !s.answered(Scope) || !s.answered(Listener) || !s.answered(RouteTable) {
			return false
		}
		if !own.ready() {
			return false
		}
		// The proxy still uses the previous version of what it has NACKed meanwhile.
		r := newResponse(t)
		own.takeRemovals(r, slices.DeleteFunc(s.cycle.removals[t], s.isPinned(t)))
		s.cycle.removals[t] = nil
		if r = own.finish(r); r != nil {
			s.send(t, r)
		}
	}
	return true
}

// answerTables sends the route tables that the proxy requested for a new listener. They come from the last cycle whose clusters are
// warm.
func (s *stream) answerTables() {
	own := &s.subscriptions[RouteTable]
	if !own.waiting() || !own.ready() {
		return
	}
	r := newResponse(RouteTable)
	s.findMissing()
	own.takeAnswers(r, func(name string) versioned {
		if table := s.cycle.usable[name]; table != nil && (s.missing == nil || !s.missing.namedBy(table, false)) {
			return table
		}
		return nil
	})
	for name, version := range r.versions {
		// Changes since that cycle are for the next one.
		if now := s.group.lookup(RouteTable, name); now != nil && now.Version() != version {
			own.changed[name] = struct{}{}
		}
	}
	if len(r.versions) > 0 {
		s.send(RouteTable, r)
	}
}
