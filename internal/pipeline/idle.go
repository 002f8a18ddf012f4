package pipeline

import (
	"sync"
	"time"
)

// idlePause is for how long changes are collected before it is told which backends have no ready endpoints. Pods that come and go
// faster than that cause no write of a status, and those that do cause one for each route in this time.
//
// A backend that does so again and again may have thousands of routes. So it has to stay as it is for twice as long each time before it is
// told, up to longestIdlePause, until nothing was told of it for idleCalm.
const (
	idlePause        = 5 * time.Second
	longestIdlePause = 5 * time.Minute
	idleCalm         = 10 * time.Minute
)

// idleness knows which backends have no ready endpoints. It stands between the lane of endpoints, which tells it whenever endpoints
// change, and the configuration lane, which is woken only when a backend comes to have none or some.
type idleness struct {
	tell func(changed map[string]bool)
	// telling is held from when it is decided what to tell until it is told, so that the last that is told is the newest.
	telling sync.Mutex

	mu sync.Mutex
	// pending is what has changed since it was last told, by the name of the endpoints; told are those that were told to have none.
	pending map[string]idleChange
	told    map[string]struct{}
	// recent is when each was last told of that was not calm since, and how long it has to wait now.
	recent map[string]idleTold
	// planned says that the pending are told in a while.
	planned bool
}

// idleChange is what is to be told, and not before when.
type idleChange struct {
	idle bool
	due  time.Time
}

type idleTold struct {
	at    time.Time
	pause time.Duration
}

func newIdleness(tell func(map[string]bool)) *idleness {
	return &idleness{tell: tell, pending: map[string]idleChange{}, told: map[string]struct{}{}, recent: map[string]idleTold{}}
}

// note takes in whether endpoints that have changed are none.
func (i *idleness) note(name string, idle bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, told := i.told[name]; told == idle {
		delete(i.pending, name)
		return
	}
	if _, waits := i.pending[name]; waits {
		return
	}
	change, now := idleChange{idle: idle}, time.Now()
	if last, ok := i.recent[name]; ok && now.Sub(last.at) < idleCalm {
		change.due = now.Add(last.pause)
	} else {
		delete(i.recent, name)
	}
	i.pending[name] = change
	i.plan()
}

// plan has the pending be told in a while. The lock is held.
func (i *idleness) plan() {
	if !i.planned {
		i.planned = true
		time.AfterFunc(idlePause, i.tick)
	}
}

// tick tells what has waited for long enough.
func (i *idleness) tick() {
	i.telling.Lock()
	defer i.telling.Unlock()
	i.mu.Lock()
	now := time.Now()
	changed := map[string]bool{}
	for name, change := range i.pending {
		if change.due.After(now) {
			continue
		}
		changed[name] = change.idle
		pause := idlePause
		if last, ok := i.recent[name]; ok {
			pause = last.pause
		}
		i.recent[name] = idleTold{at: now, pause: min(2*pause, longestIdlePause)}
	}
	for name, last := range i.recent {
		if _, waits := i.pending[name]; !waits && now.Sub(last.at) >= idleCalm {
			delete(i.recent, name)
		}
	}
	i.planned = false
	i.take(changed)
	if len(i.pending) > 0 {
		i.plan()
	}
	i.mu.Unlock()
	if len(changed) > 0 {
		i.tell(changed)
	}
}

// flush tells everything at once. It is for the start, at which nothing comes and goes.
func (i *idleness) flush() {
	i.telling.Lock()
	defer i.telling.Unlock()
	i.mu.Lock()
	changed := map[string]bool{}
	for name, change := range i.pending {
		changed[name] = change.idle
	}
	i.take(changed)
	i.mu.Unlock()
	if len(changed) > 0 {
		i.tell(changed)
	}
}

// take notes what is told. The lock is held.
func (i *idleness) take(changed map[string]bool) {
	for name, idle := range changed {
		delete(i.pending, name)
		if idle {
			i.told[name] = struct{}{}
		} else {
			delete(i.told, name)
		}
	}
}
