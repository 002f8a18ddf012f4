package xds

import (
	"maps"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gatewright/gatewright/internal/xds/bisect"
)

// A route answers 503 while its cluster warms, or if the proxy has no such cluster. So what names a cluster that the proxy has never
// acknowledged waits, and the proxy goes on with the version it has:
//
//   - If the proxy NACKs the cluster, each version of a scope or route table that the proxy has in another version waits for
//     refusedTimeout. The routes in it that name the cluster are reported, so that they are replaced and the rest of the host goes on.
//     Other scopes, route tables and listeners are sent: without them a wider host would answer, or a port would stay closed.
//   - If the proxy does not answer within warmTimeout, everything that names the cluster waits until it does, and the rest is sent.
//
// A cluster of which the proxy has an older version never holds anything back: Envoy uses that one until the new one is warm. Envoy
// acknowledges no other cluster while one warms, so those that come after a late cluster wait too, with what names them.

const (
	// warmTimeout is how long all changes wait for clusters to be acknowledged. Envoy gives up on endpoints and secrets of a cluster after
	// 15 seconds, and the first health checks take 5 seconds at most.
	warmTimeout = 30 * time.Second
	// refusedTimeout is how long a version that names a NACKed cluster waits for one that does not. That takes one step of the pipeline,
	// and some seconds if other proxies or replicas are waited for.
	refusedTimeout = 30 * time.Second
)

// newCluster is a cluster that the proxy was sent and has not acknowledged in any version.
type newCluster struct {
	// nacked reports that the last version was NACKed, and reason is the text of the NACK.
	nacked bool
	reason string
}

// missingClusters are clusters that the proxy may not have. They never change.
type missingClusters struct {
	// refused reports for each whether the proxy has NACKed it.
	refused map[string]bool
	// lengths has an entry for each length, true if there is a name of that length.
	lengths []bool
}

// findMissing updates the clusters that the proxy may not have.
func (s *stream) findMissing() {
	own := &s.subscriptions[Cluster]
	if len(own.unacked)+len(own.asked)+len(own.changed) == 0 {
		s.missing = nil
		return
	}
	refused := map[string]bool{}
	for name, cluster := range own.unacked {
		if !s.isPending(Cluster, name) {
			refused[name] = cluster.nacked
		}
	}
	for _, unsent := range []set{own.asked, own.changed} {
		for name := range unsent {
			if _, sent := own.sent[name]; !sent {
				refused[name] = false
			}
		}
	}
	if s.missing == nil || !maps.Equal(s.missing.refused, refused) {
		s.missing = newMissingClusters(refused)
	}
}

func newMissingClusters(refused map[string]bool) *missingClusters {
	if len(refused) == 0 {
		return nil
	}
	longest := 0
	for name := range refused {
		longest = max(longest, len(name))
	}
	m := &missingClusters{refused: refused, lengths: make([]bool, longest+1)}
	for name := range refused {
		m.lengths[len(name)] = true
	}
	return m
}

// isPending reports whether a resource is in a response of the update cycle that is still to be sent.
func (s *stream) isPending(t Type, name string) bool {
	r := s.cycle.pending[t]
	if r == nil {
		return false
	}
	_, pending := r.versions[name]
	return pending
}

// clustersLate reports whether the proxy has not answered clusters for so long that other changes go on.
func (s *stream) clustersLate() bool {
	own := &s.subscriptions[Cluster]
	return len(own.unanswered) > 0 && time.Since(own.unanswered[0].sent) >= warmTimeout
}

// in returns a cluster whose name is in the wire format of a message, in any message within it. It skips NACKed clusters unless they
// count.
func (m *missingClusters) in(value []byte, refusedToo bool) (string, bool) {
	for i := range value {
		length, n := uint64(value[i]), 1
		if length >= 1<<7 {
			if length, n = protowire.ConsumeVarint(value[i:]); n < 0 {
				continue
			}
		}
		if length >= uint64(len(m.lengths)) || !m.lengths[length] || i+n+int(length) > len(value) { //nolint:gosec // it is shorter than a slice
			continue
		}
		name := value[i+n : i+n+int(length)] //nolint:gosec // the same
		if refused, missing := m.refused[string(name)]; missing && (refusedToo || !refused) {
			return string(name), true
		}
	}
	return "", false
}

// namedBy reports whether a resource names one of the clusters.
func (m *missingClusters) namedBy(resource versioned, refusedToo bool) bool {
	if named, ok := resource.(*namedResource); ok {
		if own, ok := named.content.(*Resource); ok {
			_, found := m.in(own.value, refusedToo)
			return found
		}
	}
	found := false
	eachHost(resource, func(_, _ string, host *Resource) {
		if !found {
			_, found = m.in(host.value, refusedToo)
		}
	})
	return found
}

// eachHost visits the virtual hosts of a scope or a route table, with the name of the table and the domain.
func eachHost(resource versioned, visit func(table, domain string, host *Resource)) {
	switch r := resource.(type) {
	case *composedTable:
		r.hosts.changed(nil, func(domain string, host *Resource) { visit(r.name, domain, host) })
	case *namedResource:
		own, ok := r.content.(*scope)
		if !ok {
			return
		}
		table, domain, _ := strings.Cut(r.name, scopeSeparator)
		if own.host != nil {
			visit(table, domain, own.host)
			return
		}
		own.wild.changed(nil, func(domain string, host *Resource) { visit(table, domain, host) })
	}
}

// waits reports whether a resource has to wait for a cluster. If so, it is recorded. The proxy has it in another version if replaces.
func (s *stream) waits(t Type, resource versioned, replaces bool) bool {
	if s.missing == nil {
		return false
	}
	own, name := &s.subscriptions[t], resource.label()
	before, known := own.held[name]
	overdue := own.overdue(resource)
	same := known && before.version == resource.Version()
	if same && before.missing == s.missing && !overdue {
		return true
	}
	if !s.missing.namedBy(resource, false) {
		if !replaces || t == Listener || overdue || !s.missing.namedBy(resource, true) {
			return false
		}
		own.limitWait(resource)
	}
	reported := same && before.reported || s.reportHeld(resource)
	own.held[name] = heldResource{version: resource.Version(), missing: s.missing, reported: reported}
	if !known {
		// The proxy still uses the previous version, which may refer to what this cycle was about to remove.
		s.cycle.removals = [wireTypes][]string{}
		s.pinned = nil
	}
	return true
}

// heldResource is a version that waits, and the clusters that were missing when that was decided. It is reported if routes in it were.
type heldResource struct {
	version  string
	missing  *missingClusters
	reported bool
}

// limitedWait is a version that names a NACKed cluster, and when it is sent all the same.
type limitedWait struct {
	version string
	until   time.Time
}

// limitWait sets how long a version waits for another one, unless that is set.
func (s *subscription) limitWait(resource versioned) {
	if s.limited[resource.label()].version == resource.Version() {
		return
	}
	if s.limited == nil {
		s.limited = map[string]limitedWait{}
	}
	s.limited[resource.label()] = limitedWait{resource.Version(), time.Now().Add(refusedTimeout)}
}

// overdue reports whether a version has waited long enough.
func (s *subscription) overdue(resource versioned) bool {
	wait := s.limited[resource.label()]
	return wait.version == resource.Version() && !time.Now().Before(wait.until)
}

// reportHeld reports the routes that name a NACKed cluster for which there is no other version, and whether there are any. The proxy
// rejects the virtual host as long as it rejects the cluster.
func (s *stream) reportHeld(resource versioned) (reported bool) {
	refused := map[string]bool{}
	for name, is := range s.missing.refused {
		n := s.group.resources[Cluster][name]
		if is && n != nil && n.Version() == s.subscriptions[Cluster].nacked[name] && n.good == nil {
			refused[name] = true
		}
	}
	only := newMissingClusters(refused)
	if only == nil {
		return false
	}
	eachHost(resource, func(table, domain string, host *Resource) {
		name, found := only.in(host.value, true)
		if !found {
			return
		}
		routes := bisect.RoutesThat(host.value, func(route []byte) bool {
			_, names := only.in(route, true)
			return names
		})
		s.rejects(hostKey{table, domain}, rejection{version: host.version, cluster: name})
		s.observer.NACKed(s.identity, NACK{
			Type: VirtualHost, Table: table, Name: domain, Version: host.version, Routes: routes, Filters: len(routes) == 0,
			Reason:  "backend " + name + ": " + s.subscriptions[Cluster].unacked[name].reason,
			Cluster: ClusterVersion{name, s.subscriptions[Cluster].nacked[name]},
		})
		reported = true
	})
	return reported
}

// keepBack takes what has to wait for a cluster out of a response, and returns the rest, nil if there is none.
func (s *stream) keepBack(t Type, r *response) *response {
	if s.findMissing(); s.missing == nil || r == nil || t == Listener && len(r.removed) > 0 {
		// Removed listeners do not wait either; see stream.prepareChanges.
		return r
	}
	rest, late := newResponse(t), newResponse(t)
	for _, resource := range r.resources {
		into, name := rest, resource.label()
		before, replaces := r.before[name]
		if s.waits(t, resource, replaces) {
			into = late
		}
		into.add(name, resource)
		if replaces {
			into.before[name] = before
		}
	}
	if len(late.versions) == 0 {
		return r
	}
	for _, name := range r.removed {
		rest.remove(name)
		if before, replaces := r.before[name]; replaces {
			rest.before[name] = before
		}
	}
	s.subscriptions[t].takeBack(late)
	if rest.owed = r.owed; len(rest.versions) == 0 && !rest.owed {
		return nil
	}
	return rest
}

// markUsed records that the proxy uses the clusters of a response. A cluster that was removed may be on its way again.
func (s *subscription) markUsed(d *delivery) {
	for name, version := range d.versions {
		if version != "" {
			delete(s.unacked, name)
		}
	}
}

// markRefused records which clusters of a response the proxy has NACKed. It uses the others.
func (s *subscription) markRefused(d *delivery, culprits []string, reason string) {
	if len(culprits) == 0 {
		return
	}
	before := maps.Clone(s.unacked)
	s.markUsed(d)
	for _, name := range culprits {
		if _, unacked := before[name]; unacked {
			s.unacked[name] = newCluster{nacked: true, reason: bisect.ReasonOf(name, reason)}
		}
	}
}

// goOnWithoutClusters has a cycle continue although the proxy has not acknowledged the clusters of an earlier one.
func (s *stream) goOnWithoutClusters() {
	own := &s.subscriptions[Cluster]
	if r := s.cycle.pending[Cluster]; r != nil {
		own.takeBack(r)
		s.cycle.pending[Cluster] = nil
	}
	if first := own.unanswered[0]; !first.late {
		first.late = true
		s.logger.Warn("proxy does not acknowledge clusters, what names them waits",
			"group", s.group.id.String(), "pod", s.identity.Pod, "clusters", len(own.unacked))
	}
}

// schedule has the stream continue when the next of these times is over. Those before now have been considered. It replaces what was
// scheduled before.
func (s *stream) schedule(now time.Time) {
	next := s.nextTimeout(now)
	if next.Equal(s.wakeAt) {
		return
	}
	s.unschedule()
	if s.wakeAt = next; !next.IsZero() && !s.closed {
		s.timer = time.AfterFunc(time.Until(next), s.wake)
	}
}

func (s *stream) unschedule() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer, s.wakeAt = nil, time.Time{}
}

// nextTimeout returns when something stops to wait after now, zero if nothing does.
func (s *stream) nextTimeout(now time.Time) time.Time {
	var next time.Time
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	own := &s.subscriptions[Cluster]
	if len(own.unanswered) > 0 && s.cycle.phase == sendingClusters {
		consider(own.unanswered[0].sent.Add(warmTimeout))
	}
	for _, t := range []Type{Scope, RouteTable} {
		own := &s.subscriptions[t]
		for name, waiting := range own.held {
			if wait := own.limited[name]; wait.version == waiting.version {
				consider(wait.until)
			}
		}
	}
	return next
}

// wake continues the stream when a time is over.
func (s *stream) wake() {
	defer s.contain()
	s.group.mu.RLock()
	defer s.group.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.unschedule()
	s.advance()
}
