package pipeline

import (
	"sync"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
)

// idlePause is for how long changes are collected before backends without ready endpoints are reported. Pods that come and go
// faster than that cause no write of a status, and those that do cause one for each route in this time.
//
// A backend that does so again and again may have thousands of routes. So it has to stay as it is for twice as long each time before it is
// reported, up to longestIdlePause, until nothing was reported of it for idleReset.
const (
	idlePause        = 5 * time.Second
	longestIdlePause = 5 * time.Minute
	idleReset        = 10 * time.Minute
)

// idleness knows which backends have no ready endpoints. It stands between the lane of endpoints, which notifies it whenever endpoints
// change, and the configuration lane, which is woken only when a backend comes to have none or some.
type idleness struct {
	report func(changed map[ir.Endpoints]bool)
	// reporting is held from when it is decided what to report until it is reported, so that the last report is the newest.
	reporting sync.Mutex

	mu sync.Mutex
	// pending is what has changed since the last report; reported are those that were reported to have none.
	pending  map[ir.Endpoints]idleChange
	reported map[ir.Endpoints]struct{}
	// backoff is when each was last reported, until idleReset has passed, and how long it has to wait now.
	backoff map[ir.Endpoints]idleBackoff
	// planned reports that the pending are reported in a while.
	planned bool
}

// idleChange is what is to be reported, and not before when.
type idleChange struct {
	idle bool
	due  time.Time
}

type idleBackoff struct {
	at    time.Time
	pause time.Duration
}

func newIdleness(report func(map[ir.Endpoints]bool)) *idleness {
	return &idleness{
		report: report, pending: map[ir.Endpoints]idleChange{}, reported: map[ir.Endpoints]struct{}{},
		backoff: map[ir.Endpoints]idleBackoff{},
	}
}

// note takes in whether endpoints that have changed are none.
func (i *idleness) note(name ir.Endpoints, idle bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, reported := i.reported[name]; reported == idle {
		delete(i.pending, name)
		return
	}
	if _, waits := i.pending[name]; waits {
		return
	}
	change, now := idleChange{idle: idle}, time.Now()
	if last, ok := i.backoff[name]; ok && now.Sub(last.at) < idleReset {
		change.due = now.Add(last.pause)
	} else {
		delete(i.backoff, name)
	}
	i.pending[name] = change
	i.plan()
}

// plan lets the pending be reported in a while. The lock is held.
func (i *idleness) plan() {
	if !i.planned {
		i.planned = true
		time.AfterFunc(idlePause, i.tick)
	}
}

// tick reports what has waited for long enough.
func (i *idleness) tick() {
	i.reporting.Lock()
	defer i.reporting.Unlock()
	i.mu.Lock()
	now := time.Now()
	changed := map[ir.Endpoints]bool{}
	for name, change := range i.pending {
		if change.due.After(now) {
			continue
		}
		changed[name] = change.idle
		pause := idlePause
		if last, ok := i.backoff[name]; ok {
			pause = last.pause
		}
		i.backoff[name] = idleBackoff{at: now, pause: min(2*pause, longestIdlePause)}
	}
	for name, last := range i.backoff {
		if _, waits := i.pending[name]; !waits && now.Sub(last.at) >= idleReset {
			delete(i.backoff, name)
		}
	}
	i.planned = false
	i.take(changed)
	if len(i.pending) > 0 {
		i.plan()
	}
	i.mu.Unlock()
	if len(changed) > 0 {
		i.report(changed)
	}
}

// flush reports everything at once. It is for the start, at which nothing comes and goes.
func (i *idleness) flush() {
	i.reporting.Lock()
	defer i.reporting.Unlock()
	i.mu.Lock()
	changed := map[ir.Endpoints]bool{}
	for name, change := range i.pending {
		changed[name] = change.idle
	}
	i.take(changed)
	i.mu.Unlock()
	if len(changed) > 0 {
		i.report(changed)
	}
}

// take records what is reported. The lock is held.
func (i *idleness) take(changed map[ir.Endpoints]bool) {
	for name, idle := range changed {
		delete(i.pending, name)
		if idle {
			i.reported[name] = struct{}{}
		} else {
			delete(i.reported, name)
		}
	}
}
