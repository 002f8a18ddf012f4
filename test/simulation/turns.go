package simulation

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// Between two calls of [synctest.Wait] only one chain of causes runs in a replica; otherwise the scheduler of Go would decide what a seed
// does. So whatever one goroutine of a replica hands to another one waits until everything is at rest, and then has a turn of its own.

// turn is something that waits for everything else to be at rest. Of several the first by kind and name is next; of the same name, the
// oldest is.
type turn struct {
	kind turnKind
	name string
	pass func()
	// forgets says of an outcome that it is none.
	forgets bool
}

type turnKind int

const (
	// toPipeline is before toTracker: a NACK arrives before a state that is acknowledged without what was rejected.
	toPipeline turnKind = iota
	toTracker
	// ofLane is a lane that is about to hand out. What comes before it arrives while the lane is busy, and is in the next batch.
	ofLane
	toWriter
	toPeers
)

func (t turn) compare(other turn) int {
	if t.kind != other.kind {
		return int(t.kind - other.kind)
	}
	return strings.Compare(t.name, other.name)
}

// later has something wait for its turn.
func (r *replica) later(kind turnKind, name string, pass func()) {
	r.replace(turn{kind: kind, name: name, pass: pass}, func(turn) bool { return false })
}

// replace has a turn take the place of others that have not come.
func (r *replica) replace(by turn, old func(turn) bool) {
	if r.wake == nil {
		by.pass()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns = append(slices.DeleteFunc(r.turns, old), by)
	r.wake()
}

// nextTurn takes the next of those that wait, false if there is none of these kinds.
func (r *replica) nextTurn(last turnKind) (turn, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.turns, turn.compare)
	if len(r.turns) == 0 || r.turns[0].kind > last {
		return turn{}, false
	}
	next := r.turns[0]
	r.turns = slices.Delete(r.turns, 0, 1)
	return next, true
}

// await has a lane wait for its turn.
func (r *replica) await(lane string) {
	if !r.started {
		return
	}
	mine := make(chan struct{})
	r.later(ofLane, lane, func() { close(mine) })
	select {
	case <-mine:
	case <-r.ctx.Done():
	}
}

// wait has everything that has arrived take its effect.
func (s *simulation) wait() {
	synctest.Wait()
	for s.proceed() {
		synctest.Wait()
	}
}

// wake ends a sleep, so that no time passes before everything has had its turn.
func (s *simulation) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// proceed has the next one have its turn, and returns false if none waits.
func (s *simulation) proceed() bool {
	for _, r := range s.replicas {
		if r == nil {
			continue
		}
		if next, ok := r.nextTurn(toPeers); ok {
			next.pass()
			return true
		}
	}
	return false
}

// sleepUntil lets time pass. What timers of replicas cause takes its effect when they fire.
func (s *simulation) sleepUntil(t time.Time) {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	for over := false; !over; {
		select {
		case <-timer.C:
			over = true
		case <-s.woken:
		}
		s.wait()
	}
}

// Apply implements [pipeline.Proxies].
func (r *replica) Apply(changes []xds.Change) map[xds.GroupID]string {
	r.await("config")
	states := r.cache.Apply(changes)
	heard := false
	// A proxy leaves its state before the tracker learns of the next one.
	for next, ok := r.nextTurn(toTracker); ok; next, ok = r.nextTurn(toTracker) {
		next.pass()
		heard = true
	}
	if heard {
		r.await("config")
	}
	return states
}

// Own implements [pipeline.Proxies]. Proxies have no owners here.
func (*replica) Own(xds.GroupID, string) {}

// ApplyEndpoints implements [pipeline.Proxies]. The lanes of a pipeline do not wait for each other, so the scheduler decides when endpoints
// follow.
func (r *replica) ApplyEndpoints(changes map[string]*xds.Resource) {
	r.await("endpoints")
	if len(changes) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.assignments = append(r.assignments, changes)
}

// observer tells the parts of a replica what a proxy does on one of its streams.
type observer struct {
	*replica
	stream int
}

func (o observer) name(p xds.Identity) string {
	return fmt.Sprintf("%s/%s/%06d", p.Group, p.Pod, o.stream)
}

func (o observer) pass(p xds.Identity, pass func(xds.Observer)) {
	o.later(toTracker, o.name(p), func() { pass(trackerOnly{o.tracker}) })
	o.later(toPeers, o.name(p), func() { pass(o.peerServer) })
}

// trackerOnly is the tracker as an observer; it does not hear of NACKs.
type trackerOnly struct{ *convergence.Tracker }

// NACKed implements [xds.Observer].
func (trackerOnly) NACKed(xds.Identity, xds.NACK) {}

// Connected implements [xds.Observer].
func (o observer) Connected(p xds.Identity) { o.pass(p, func(to xds.Observer) { to.Connected(p) }) }

// Disconnected implements [xds.Observer].
func (o observer) Disconnected(p xds.Identity) {
	o.pass(p, func(to xds.Observer) { to.Disconnected(p) })
}

// Holds implements [xds.Observer].
func (o observer) Holds(p xds.Identity, state string) {
	o.pass(p, func(to xds.Observer) { to.Holds(p, state) })
}

// Leaves implements [xds.Observer].
func (o observer) Leaves(p xds.Identity) { o.pass(p, func(to xds.Observer) { to.Leaves(p) }) }

// NACKed implements [xds.Observer].
func (o observer) NACKed(p xds.Identity, nack xds.NACK) {
	o.later(toPipeline, nackName("", p, nack), func() { o.pipeline.NACKed(p, nack) })
	o.later(toPeers, o.name(p), func() { o.peerServer.NACKed(p, nack) })
}

func nackName(replica string, p xds.Identity, nack xds.NACK) string {
	nack.Reason = ""
	return fmt.Sprintf("%s/%s/%s/%v", replica, p.Group, p.Pod, nack)
}

// offers implements [quarantine.Peers].
type offers struct{ *replica }

func (o offers) Offer(key, refused string, instead []byte) {
	o.later(toPeers, key, func() { o.peerServer.Offer(key, refused, instead) })
}

func (o offers) Withdraw(key string) { o.later(toPeers, key, func() { o.peerServer.Withdraw(key) }) }

// peerNews implements [peers.Listener], and takes what else another replica says. The messages of one response have no order.
type peerNews struct{ *replica }

func (n peerNews) PeerHolds(replica string, p xds.Identity, connected time.Time, state string, left bool) {
	n.later(toTracker, fmt.Sprintf("%s/%s/%s", replica, p.Group, p.Pod), func() { n.tracker.PeerHolds(replica, p, connected, state, left) })
}

func (n peerNews) PeerForgets(replica string, p xds.Identity) {
	n.later(toTracker, fmt.Sprintf("%s/%s/%s", replica, p.Group, p.Pod), func() { n.tracker.PeerForgets(replica, p) })
}

func (n peerNews) PeerLeft(replica string) {
	n.later(toTracker, replica, func() { n.tracker.PeerLeft(replica) })
}

func (n peerNews) nacked(p xds.Identity, nack xds.NACK) {
	n.later(toPipeline, nackName("peer", p, nack), func() {
		nack.Origins = n.cache.Origins(p.Group, nack)
		n.pipeline.NACKed(p, nack)
	})
}

func (n peerNews) offered(replica, key, rejected string, instead []byte) {
	n.later(toPipeline, "peer/"+replica+"/"+key, func() { n.pipeline.Offered(replica, key, rejected, instead) })
}

// statuses passes outcomes on to the status writer: of each object the last that everything led to, since how many of those before it the
// writer sees is open. While a write is under way it sees none of them.
type statuses struct{ *replica }

func (s statuses) set(kind store.Kind, key string, forgets bool, pass func()) {
	name := string(kind) + "/" + key
	s.replace(turn{kind: toWriter, name: name, pass: pass, forgets: forgets}, func(t turn) bool {
		return t.kind == toWriter && t.name == name && (forgets || !t.forgets)
	})
}

// SetClass implements [pipeline.Statuses].
func (s statuses) SetClass(key string, o outcome.Class) {
	s.set(store.GatewayClass, key, false, func() { s.writer.SetClass(key, o) })
}

// SetGateway implements [pipeline.Statuses].
func (s statuses) SetGateway(key string, o outcome.Gateway) {
	s.set(store.Gateway, key, false, func() { s.writer.SetGateway(key, o) })
}

// ReleaseGateway implements [pipeline.Statuses].
func (s statuses) ReleaseGateway(key string, generation int64) {
	s.set(store.Gateway, key, false, func() { s.writer.ReleaseGateway(key, generation) })
}

// SetListenerSet implements [pipeline.Statuses].
func (s statuses) SetListenerSet(key string, o outcome.ListenerSet) {
	s.set(store.ListenerSet, key, false, func() { s.writer.SetListenerSet(key, o) })
}

// WithdrawListenerSet implements [pipeline.Statuses].
func (s statuses) WithdrawListenerSet(key string, o outcome.ListenerSet) {
	s.set(store.ListenerSet, key, false, func() { s.writer.WithdrawListenerSet(key, o) })
}

// SetPolicy implements [pipeline.Statuses].
func (s statuses) SetPolicy(kind store.Kind, key string, o outcome.Policy) {
	s.set(kind, key, false, func() { s.writer.SetPolicy(kind, key, o) })
}

// SetRoute implements [pipeline.Statuses].
func (s statuses) SetRoute(kind store.Kind, key string, o outcome.Route) {
	s.set(kind, key, false, func() {
		s.decide(key, o)
		s.writer.SetRoute(kind, key, o)
	})
}

// Forget implements [pipeline.Statuses].
func (s statuses) Forget(kind store.Kind, key string) {
	s.set(kind, key, true, func() {
		s.mu.Lock()
		delete(s.decisions, key)
		s.mu.Unlock()
		s.writer.Forget(kind, key)
	})
}
