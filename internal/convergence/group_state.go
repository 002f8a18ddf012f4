package convergence

import (
	"slices"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// maxStates is the number of remembered states of a group. A proxy that reports an older one counts for nothing until it has caught up.
const maxStates = 4096

// groupState is what is known about the proxies of a group, which serve one Gateway or all Gateways of a shared fleet.
type groupState struct {
	id xds.GroupID
	// states numbers the target states of the group, and order lists them from oldest to newest. A state that came back has its newest
	// number there, and its first number in earliest.
	states   map[string]int
	earliest map[string]int
	order    []string
	last     int
	// acked is the highest number that all ready proxies have acknowledged at one time.
	acked int
	// waiting are the objects whose state is not acknowledged.
	waiting map[Object]wait
	// services has `namespace/name` of the Service of each Gateway of the group. delivery is how the proxies are configured.
	services map[string]string
	delivery ir.Delivery
	// serviceNotSwitched are the Gateways of a shared fleet whose Service has had no endpoints there so far.
	serviceNotSwitched map[string]bool
	// deliveryError is why the proxies cannot be configured, empty if they can.
	deliveryError string
}

type wait struct {
	number int
	since  time.Time
	late   bool
}

func newGroupState(id xds.GroupID) *groupState {
	return &groupState{
		id: id, services: map[string]string{}, serviceNotSwitched: map[string]bool{},
		states: map[string]int{xds.EmptyState: 0}, earliest: map[string]int{xds.EmptyState: 0}, acked: -1, waiting: map[Object]wait{},
	}
}

// reset returns a groupState that knows only the last target state.
func (g *groupState) reset() *groupState {
	fresh := newGroupState(g.id)
	if len(g.order) > 0 {
		fresh.advance(g.order[len(g.order)-1])
	}
	return fresh
}

// advance sets the target state. A state that comes back is the same state for proxies that still have it.
func (g *groupState) advance(state string) {
	if len(g.order) > 0 && g.order[len(g.order)-1] == state {
		return
	}
	g.last++
	g.states[state] = g.last
	if _, known := g.earliest[state]; !known {
		g.earliest[state] = g.last
	}
	g.order = append(g.order, state)
	if len(g.order) > maxStates {
		oldest := g.order[0]
		g.order = slices.Delete(g.order, 0, 1)
		if g.states[oldest] <= g.last-maxStates {
			delete(g.states, oldest)
			delete(g.earliest, oldest)
		}
	}
}

// waitFor lets an object wait for the target state, and reports whether all ready proxies have acknowledged it already.
func (g *groupState) waitFor(o Object, since time.Time) bool {
	if g.acked >= g.last {
		delete(g.waiting, o)
		return true
	}
	if before, waits := g.waiting[o]; waits {
		since = before.since
	}
	g.waiting[o] = wait{number: g.last, since: since}
	return false
}

// markAcked records that all ready proxies have acknowledged a state. It returns the objects that have converged.
func (g *groupState) markAcked(number int) map[Object]time.Time {
	if number <= g.acked {
		return nil
	}
	g.acked = number
	if len(g.waiting) == 0 {
		return nil
	}
	converged := map[Object]time.Time{}
	for o, w := range g.waiting {
		if w.number <= number {
			converged[o] = w.since
			delete(g.waiting, o)
		}
	}
	if len(g.waiting) == 0 {
		// A map never shrinks, and a loop over an empty one costs what it once held.
		g.waiting = map[Object]wait{}
	}
	return converged
}
