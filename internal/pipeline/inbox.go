package pipeline

import (
	"sync"

	"github.com/gatewright/gatewright/internal/store"
)

// inbox keeps the newest change of each object until a lane takes them, so that it never holds more than there are objects and a busy
// lane catches up in one step.
type inbox struct {
	mu      sync.Mutex
	pending map[subject]store.Change
	wake    chan struct{}
}

type subject struct {
	kind store.Kind
	key  string
}

func newInbox() *inbox {
	return &inbox{pending: map[subject]store.Change{}, wake: make(chan struct{}, 1)}
}

func (i *inbox) put(c store.Change) {
	i.mu.Lock()
	i.pending[subject{c.Kind, c.Key}] = c
	i.mu.Unlock()
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

func (i *inbox) take() []store.Change {
	i.mu.Lock()
	defer i.mu.Unlock()
	changes := make([]store.Change, 0, len(i.pending))
	for _, c := range i.pending {
		changes = append(changes, c)
	}
	clear(i.pending)
	return changes
}
