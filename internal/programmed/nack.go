package programmed

import (
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// Reject records what proxies of a Gateway NACK of an object. It holds until the next outcome of the object is set, which for a route has
// to be of another generation, or until Accept.
func (s *Statuses) Reject(kind store.Kind, key, gateway string, r outcome.Rejection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := convergence.Object{Kind: kind, Key: key}
	o := s.objects[id]
	if o == nil || o.nacks[gateway].Message == r.Message && maps.Equal(o.nacks[gateway].Listeners, r.Listeners) {
		return
	}
	if o.nacks == nil {
		o.nacks = map[string]outcome.Rejection{}
	}
	o.nacks[gateway] = r
	s.publish(id)
}

// Accept removes the NACK of an object. The object waits for an acknowledgement again.
func (s *Statuses) Accept(kind store.Kind, key, gateway string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := convergence.Object{Kind: kind, Key: key}
	o := s.objects[id]
	if o == nil || o.nacks[gateway].IsZero() {
		return
	}
	delete(o.nacks, gateway)
	s.tracker.TrackAgain(id, gateway)
	s.publish(id)
}

// Live reports whether every ready proxy of a Gateway has acknowledged the last outcome of an object. A route may be live at listeners that
// proxies NACK: they know its rules.
func (s *Statuses) Live(kind store.Kind, key, gateway string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := convergence.Object{Kind: kind, Key: key}
	o := s.objects[id]
	if o == nil || o.nacks[gateway].Message != "" || !o.route && !o.nacks[gateway].IsZero() {
		return false
	}
	return s.tracker.Converged(id, gateway)
}

// atParent returns the condition of a route at a parent with these listeners. A route that is served at none of them is not programmed.
func atParent(r outcome.Rejection, listeners []string, own outcome.Condition) outcome.Condition {
	var reasons []string
	for _, id := range listeners {
		if reason, rejected := r.Listeners[id]; rejected {
			reasons = append(reasons, reason)
		}
	}
	rejected := len(reasons)
	slices.Sort(reasons)
	text := strings.Join(slices.Compact(reasons), "\n")
	switch {
	case rejected == 0 || r.Message != "":
		return own
	case rejected == len(listeners):
		return outcome.Condition{State: outcome.False, Reason: outcome.ListenerNotProgrammed, Message: text}
	default:
		own.Message += "; " + text
		return own
	}
}

// Acked counts the ready proxies of a group but these, and those of them that have acknowledged a state.
func (s *Statuses) Acked(group xds.GroupID, state string, but map[string]struct{}) (acked, ready int) {
	return s.tracker.Acked(group, state, but)
}

// NACKed reports that a proxy of a group has sent a NACK that no object reports yet.
func (s *Statuses) NACKed(group xds.GroupID) { s.tracker.NACKed(group) }

// Reported reports that objects report so many NACKs of each group.
func (s *Statuses) Reported(nacks map[xds.GroupID]int) { s.tracker.Reported(nacks) }

// Knows reports whether a proxy of a group is connected to a replica.
func (s *Statuses) Knows(group xds.GroupID, pod string) bool { return s.tracker.Knows(group, pod) }

// OnDisconnect sets the function that is called when a proxy has disconnected from a replica.
func (s *Statuses) OnDisconnect(ended func()) { s.tracker.OnDisconnect(ended) }
