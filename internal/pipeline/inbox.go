package pipeline

import (
	"maps"
	"sync"
	"time"

	"github.com/gatewright/gatewright/internal/store"
)

// inbox keeps the newest change of each object until a lane takes them, so that it never holds more than there are objects and a busy
// lane catches up in one step.
type inbox struct {
	mu      sync.Mutex
	pending map[subject]store.Change
	// since is when the oldest of what is to be taken came, zero if there is nothing.
	since time.Time
	// taken is when the batch was taken that has not been handed out yet, zero if there is none. A lane is open once it has taken its
	// first.
	taken time.Time
	open  bool
	// refused is what proxies refused of what was handed out before, and why.
	refused map[refusal]string
	// offers is what other replicas serve instead of what their proxies refused.
	offers map[string]offer
	// idling says of endpoints that there are none, or some again.
	idling map[string]bool
	wake   chan struct{}
}

type subject struct {
	kind store.Kind
	key  string
}

func newInbox() *inbox {
	return &inbox{pending: map[subject]store.Change{}, refused: map[refusal]string{}, offers: map[string]offer{}, idling: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (i *inbox) put(c store.Change) {
	i.mu.Lock()
	i.begin()
	i.pending[subject{c.Kind, c.Key}] = c
	i.mu.Unlock()
	i.ring()
}

// refuse takes in that proxies refused something.
func (i *inbox) refuse(r refusal, reason string) {
	i.mu.Lock()
	i.begin()
	if len(i.refused) < maxRefusals {
		i.refused[r] = reason
	}
	i.mu.Unlock()
	i.ring()
}

// offer takes in what another replica serves instead.
func (i *inbox) offer(key string, o offer) {
	i.mu.Lock()
	i.begin()
	if len(i.offers) < maxRefusals {
		i.offers[key] = i.offers[key].with(o)
	}
	i.mu.Unlock()
	i.ring()
}

// idle takes in which endpoints are none, and which are some again.
func (i *inbox) idle(changed map[string]bool) {
	i.mu.Lock()
	i.begin()
	maps.Copy(i.idling, changed)
	i.mu.Unlock()
	i.ring()
}

// again asks for a round although nothing came in.
func (i *inbox) again() {
	i.mu.Lock()
	i.begin()
	i.mu.Unlock()
	i.ring()
}

// begin notes the time of the first that comes in. The lock is held.
func (i *inbox) begin() {
	if i.since.IsZero() {
		i.since = time.Now()
	}
}

func (i *inbox) ring() {
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// batch is what came in since the last one.
type batch struct {
	changes []store.Change
	since   time.Time
	refused map[refusal]string
	offers  map[string]offer
	idling  map[string]bool
}

func (i *inbox) take() batch {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.taken, i.open = time.Now(), true
	i.begin()
	b := batch{changes: make([]store.Change, 0, len(i.pending)), since: i.since, refused: i.refused, offers: i.offers, idling: i.idling}
	for _, c := range i.pending {
		b.changes = append(b.changes, c)
	}
	i.since, i.pending = time.Time{}, map[subject]store.Change{}
	i.refused = map[refusal]string{}
	i.offers = map[string]offer{}
	i.idling = map[string]bool{}
	return b
}

// done says that what was taken has been handed out.
func (i *inbox) done() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.taken = time.Time{}
}

// age is for how long the oldest batch has not been handed out: since it was taken, or since it came in if nobody takes it.
func (i *inbox) age() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case !i.taken.IsZero():
		return time.Since(i.taken)
	case i.open && len(i.pending) > 0:
		return time.Since(i.since)
	default:
		return 0
	}
}
