package convergence

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// gatewayLabel is on the Service of a fleet, and so on its EndpointSlices.
	gatewayLabel = gwv1.GatewayNameLabelKey
	// lateAfter is the time after which an object counts as late. A proxy finds another replica sooner.
	lateAfter = time.Minute
	lateCheck = 5 * time.Second
)

// Object is an object that proxies serve.
type Object struct {
	Kind store.Kind
	Key  string
}

// Tracker tracks the states that proxies acknowledge, and the objects that wait for them. It is safe for concurrent use.
type Tracker struct {
	now      func() time.Time
	metrics  *metrics
	sessions *sessions
	// changed is called without locks for each object whose progress has changed.
	changed func(Object)

	mu     sync.Mutex
	groups map[xds.GroupID]*groupState
	// sharing has the shared group of each Gateway without proxies of its own, by the Gateway's own group.
	sharing map[xds.GroupID]xds.GroupID
	// fleetErrors are the reasons why the fleets of groups cannot be applied to the cluster.
	fleetErrors map[xds.GroupID]string
	// objects has the Gateways whose proxies serve an object.
	objects   map[Object][]string
	ready     readiness
	byService serviceIndex
	// since is when the changes that are being published came in.
	since time.Time
	// notify are the objects whose progress has changed since the lock was taken.
	notify []Object
}

// New returns a Tracker of no proxies.
func New(registerer prometheus.Registerer) *Tracker {
	t := &Tracker{
		now: time.Now, sessions: newSessions(), changed: func(Object) {},
		groups: map[xds.GroupID]*groupState{}, sharing: map[xds.GroupID]xds.GroupID{}, fleetErrors: map[xds.GroupID]string{},
		objects: map[Object][]string{}, ready: newReadiness(), byService: newServiceIndex(),
	}
	t.metrics = newMetrics(registerer, t.oldest)
	return t
}

// OnChange sets the function that is called for each object whose progress has changed. Call it before all other methods.
func (t *Tracker) OnChange(changed func(Object)) { t.changed = changed }

// update makes a change under the lock, and calls changed for the objects it affects after that.
func (t *Tracker) update(change func()) {
	for _, o := range t.apply(change) {
		t.changed(o)
	}
}

func (t *Tracker) apply(change func()) []Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	affected := t.notify
	t.notify = nil
	return affected
}

// Reach sets the target states of groups. since is when the changes that led to them came in. Objects tracked until the next call belong
// to these states.
func (t *Tracker) Reach(states map[xds.GroupID]string, since time.Time) {
	t.update(func() {
		t.since = since
		for id, state := range states {
			g := t.group(id)
			if _, shares := t.sharing[id]; shares {
				// Its own proxies are gone, or about to go. It may have some again.
				g = newGroupState(id)
				t.groups[id] = g
			}
			g.advance(state)
			// A proxy of another replica may have it already.
			t.evaluate(id)
		}
	})
}

// Fleet sets the Service of a Gateway's proxies, empty if the Gateway has none.
func (t *Tracker) Fleet(gateway ir.Gateway, service string) {
	t.update(func() { t.setFleet(gateway, service) })
}

func (t *Tracker) setFleet(gateway ir.Gateway, service string) {
	name, own, group := gateway.Name.String(), xds.GroupID(gateway.Name), xds.GroupID(gateway.Group())
	t.byService.set(name, service)
	if service == "" {
		t.stopSharing(name)
		delete(t.groups, own)
		delete(t.fleetErrors, own)
		return
	}
	moves := t.groupIDOf(name) != group
	if moves {
		t.stopSharing(name)
	}
	if moves && group != own {
		t.groups[own] = t.group(own).reset()
		t.sharing[own] = group
		t.groupOf(name).serviceNotSwitched[name] = len(t.ready.pods(service)) == 0
	}
	g := t.groupOf(name)
	g.services[name], g.delivery = service, gateway.Fleet.Delivery
	if moves {
		for o := range t.ofGateway(name) {
			g.waitFor(o, t.since)
			t.notify = append(t.notify, o)
		}
	}
	t.evaluate(group)
}

// stopSharing forgets the shared proxies of a Gateway.
func (t *Tracker) stopSharing(gateway string) {
	own := ownGroup(gateway)
	if shared := t.groups[t.sharing[own]]; shared != nil {
		delete(shared.services, gateway)
		delete(shared.serviceNotSwitched, gateway)
	}
	delete(t.sharing, own)
}

// ofGateway returns the objects that a Gateway's proxies serve. It goes through all objects, so it is for rare events.
func (t *Tracker) ofGateway(gateway string) iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for o, gateways := range t.objects {
			if slices.Contains(gateways, gateway) && !yield(o) {
				return
			}
		}
	}
}

// group returns the state of a group, and creates it if needed.
func (t *Tracker) group(id xds.GroupID) *groupState {
	g := t.groups[id]
	if g == nil {
		g = newGroupState(id)
		t.groups[id] = g
	}
	return g
}

// ownGroup is the group of a Gateway's dedicated proxies.
func ownGroup(gateway string) xds.GroupID { return xds.GroupID(ir.ParseName(gateway)) }

// groupIDOf returns the id of the group that serves a Gateway.
func (t *Tracker) groupIDOf(gateway string) xds.GroupID {
	own := ownGroup(gateway)
	return cmp.Or(t.sharing[own], own)
}

// groupOf returns the state of the group that serves a Gateway.
func (t *Tracker) groupOf(gateway string) *groupState { return t.group(t.groupIDOf(gateway)) }

// evaluate determines the newest state that all ready proxies of a group have acknowledged. The objects that waited for it have converged.
// A proxy that has NACKed a part of a state acknowledges it without that part. So nothing converges until objects report the part.
func (t *Tracker) evaluate(id xds.GroupID) {
	g := t.groups[id]
	if g == nil || t.sessions.hasNACKs(id) {
		return
	}
	pods := t.pods(g)
	if len(pods) == 0 {
		return
	}
	all := g.last
	for _, pod := range pods {
		all = min(all, t.ackedBy(g, pod))
	}
	for o, since := range g.markAcked(all) {
		t.metrics.live.Observe(t.now().Sub(since).Seconds())
		t.notify = append(t.notify, o)
	}
}

// pods returns the ready proxies of a group.
func (t *Tracker) pods(g *groupState) []string {
	if len(g.services) == 1 {
		for _, service := range g.services {
			return t.ready.pods(service)
		}
	}
	var pods []string
	for _, service := range g.services {
		pods = append(pods, t.ready.pods(service)...)
	}
	slices.Sort(pods)
	return slices.Compact(pods)
}

// ackedBy returns the number of the newest state that a proxy has acknowledged, -1 if none is known. A proxy has one stream at a time. If
// several replicas report it, only the report of the replica it connected to last is current.
func (t *Tracker) ackedBy(g *groupState, pod string) int {
	number := -1
	for i, acked := range t.sessions.newest(xds.Identity{Group: g.id, Pod: pod}) {
		numbers := g.states
		if acked.left {
			// It may have been sent another state before this one came back.
			numbers = g.earliest
		}
		n, known := numbers[acked.state]
		if !known || acked.state == "" {
			return -1
		}
		if i == 0 || n < number {
			number = n
		}
	}
	return number
}

// Run follows the proxies until the context is done.
func (t *Tracker) Run(ctx context.Context) {
	ticker := time.NewTicker(lateCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.sessions.wake:
			t.update(t.follow)
		case <-ticker.C:
			t.update(t.checkLate)
		}
	}
}

func (t *Tracker) follow() {
	for _, group := range t.sessions.takeChanged() {
		t.evaluate(group)
	}
}

// checkLate finds the objects that have become late.
func (t *Tracker) checkLate() {
	for _, g := range t.groups {
		for o, w := range g.waiting {
			if !w.late && t.now().Sub(w.since) > lateAfter {
				w.late = true
				g.waiting[o] = w
				t.notify = append(t.notify, o)
			}
		}
	}
}

// oldest returns the age of the oldest change that is not acknowledged, in seconds.
func (t *Tracker) oldest() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := time.Duration(0)
	for _, g := range t.groups {
		for _, w := range g.waiting {
			age = max(age, t.now().Sub(w.since))
		}
	}
	return age.Seconds()
}
