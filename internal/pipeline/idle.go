package pipeline

import (
	"sync"
	"time"
)

// idlePause is for how long changes are collected before it is told which backends have no ready endpoints. Pods that come and go
// faster than that cause no write of a status, and those that do cause one for each route in this time.
const idlePause = 5 * time.Second

// idleness knows which backends have no ready endpoints. It stands between the lane of endpoints, which tells it whenever endpoints
// change, and the configuration lane, which is woken only when a backend comes to have none or some.
type idleness struct {
	tell func(changed map[string]bool)

	mu sync.Mutex
	// pending is what has changed since it was last told, by the name of the endpoints; told are those that were told to have none.
	pending map[string]bool
	told    map[string]struct{}
	// planned says that the pending are told in a while.
	planned bool
}

func newIdleness(tell func(map[string]bool)) *idleness {
	return &idleness{tell: tell, pending: map[string]bool{}, told: map[string]struct{}{}}
}

// note takes in whether endpoints that have changed are none.
func (i *idleness) note(name string, idle bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, told := i.told[name]; told == idle {
		delete(i.pending, name)
		return
	}
	i.pending[name] = idle
	if !i.planned {
		i.planned = true
		time.AfterFunc(idlePause, i.flush)
	}
}

// flush tells what has changed.
func (i *idleness) flush() {
	i.mu.Lock()
	changed := i.pending
	i.pending, i.planned = map[string]bool{}, false
	for name, idle := range changed {
		if idle {
			i.told[name] = struct{}{}
		} else {
			delete(i.told, name)
		}
	}
	i.mu.Unlock()
	if len(changed) > 0 {
		i.tell(changed)
	}
}
