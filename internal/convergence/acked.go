package convergence

import (
	"slices"

	"github.com/gatewright/gatewright/internal/xds"
)

// Acked counts the ready proxies of a group but these, and those of them that have acknowledged a state, or a later one. An empty state, or
// one that is long gone, is any.
func (t *Tracker) Acked(group xds.GroupID, state string, but map[string]struct{}) (acked, ready int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[group]
	if g == nil {
		return 0, 0
	}
	pods := slices.DeleteFunc(t.pods(g), func(pod string) bool {
		_, left := but[pod]
		return left
	})
	// Number 0 is that of the empty state.
	number := max(g.states[state], 1)
	for _, pod := range pods {
		if t.ackedBy(g, pod) >= number {
			acked++
		}
	}
	return acked, len(pods)
}

// Knows reports whether a proxy of a group is connected to a replica. A proxy that starts is not ready yet.
func (t *Tracker) Knows(group xds.GroupID, pod string) bool {
	return len(t.sessions.newest(xds.Identity{Group: group, Pod: pod})) > 0
}

// OnDisconnect sets the function that is called when a proxy has disconnected from a replica. It must return at once. Call it before
// proxies connect.
func (t *Tracker) OnDisconnect(ended func()) { t.sessions.ended = ended }
