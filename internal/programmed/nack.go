package programmed

import (
	"slices"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/store"
)

// Reject records that proxies of a Gateway NACK what comes from an object, or from the named listeners of it. It holds until the next
// outcome of the object is set, which for a route has to be of another generation, or until Accept.
func (s *Statuses) Reject(kind store.Kind, key, gateway string, listeners []string, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := convergence.Object{Kind: kind, Key: key}
	o := s.objects[id]
	if o == nil || o.nacks[gateway].reason == reason && slices.Equal(o.nacks[gateway].listeners, listeners) {
		return
	}
	if o.nacks == nil {
		o.nacks = map[string]nack{}
	}
	o.nacks[gateway] = nack{reason, listeners}
	s.publish(id)
}

// Accept removes the NACK of an object. The object waits for an acknowledgement again.
func (s *Statuses) Accept(kind store.Kind, key, gateway string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := convergence.Object{Kind: kind, Key: key}
	o := s.objects[id]
	if o == nil || o.nacks[gateway].reason == "" {
		return
	}
	delete(o.nacks, gateway)
	s.tracker.TrackAgain(id, gateway)
	s.publish(id)
}

// Live reports whether every ready proxy of a Gateway has acknowledged the last outcome of an object.
func (s *Statuses) Live(kind store.Kind, key, gateway string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := convergence.Object{Kind: kind, Key: key}
	o := s.objects[id]
	return o != nil && o.nacks[gateway].reason == "" && s.tracker.Converged(id, gateway)
}
