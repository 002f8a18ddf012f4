package convergence

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gatewright/gatewright/internal/xds"
)

// sessions are the proxies that are connected to this replica and to others, with the state that each has acknowledged. It has a lock of
// its own, which is never held for long, because the xDS server writes to it. changed has groups, so its size is bounded by theirs.
type sessions struct {
	mu sync.Mutex
	// bySource has the proxies that are connected to each replica; the source of this one is empty.
	bySource map[string]map[xds.Identity]*session
	changed  map[xds.GroupID]struct{}
	// nacks counts the NACKs of each group that no object reports yet.
	nacks map[xds.GroupID]int
	wake  chan struct{}
	// ended is called for sessions that end, with the lock held.
	ended func()
}

// session is one proxy on one replica. A proxy that connects again may have two streams for a moment.
type session struct {
	streams int
	// since is when the newest stream began.
	since time.Time
	acked
}

// acked is the last state that a proxy acknowledged. left reports that it has been sent another one since.
type acked struct {
	state string
	left  bool
}

func newSessions() *sessions {
	return &sessions{
		bySource: map[string]map[xds.Identity]*session{}, changed: map[xds.GroupID]struct{}{}, wake: make(chan struct{}, 1), ended: func() {},
		nacks: map[xds.GroupID]int{},
	}
}

func (s *sessions) touch(group xds.GroupID) {
	s.changed[group] = struct{}{}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sessions) of(source string, proxy xds.Identity) *session {
	own := s.bySource[source]
	if own == nil {
		own = map[xds.Identity]*session{}
		s.bySource[source] = own
	}
	if own[proxy] == nil {
		own[proxy] = &session{}
	}
	return own[proxy]
}

func (s *sessions) count(source string, proxy xds.Identity, streams int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.of(source, proxy)
	if own.streams += streams; own.streams <= 0 {
		delete(s.bySource[source], proxy)
		s.ended()
	} else if streams > 0 {
		// It may have restarted. What it acknowledged on an earlier stream is not known to be there.
		own.since, own.acked = time.Now(), acked{}
	}
	s.touch(proxy.Group)
}

// replace sets the session of a proxy on another replica.
func (s *sessions) replace(source string, proxy xds.Identity, since time.Time, last acked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.of(source, proxy) = session{streams: 1, since: since, acked: last}
	s.touch(proxy.Group)
}

func (s *sessions) ack(source string, proxy xds.Identity, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.bySource[source][proxy]; own != nil {
		own.acked = acked{state: state}
		s.touch(proxy.Group)
	}
}

// leave completes no state, so it wakes no one.
func (s *sessions) leave(source string, proxy xds.Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.bySource[source][proxy]; own != nil {
		own.left = true
	}
}

func (s *sessions) drop(source string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for proxy := range s.bySource[source] {
		s.touch(proxy.Group)
		s.ended()
	}
	delete(s.bySource, source)
}

// nacked counts NACKs of a group that no object reports yet, fewer if the number is negative.
func (s *sessions) nacked(group xds.GroupID, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nacks[group] += number; s.nacks[group] <= 0 {
		delete(s.nacks, group)
		s.touch(group)
	}
}

// hasNACKs reports whether a group has NACKs that no object reports yet.
func (s *sessions) hasNACKs(group xds.GroupID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nacks[group] > 0
}

// takeChanged returns the groups whose sessions have changed.
func (s *sessions) takeChanged() []xds.GroupID {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := slices.Collect(maps.Keys(s.changed))
	clear(s.changed)
	return groups
}

// skew is the assumed difference between the clocks of replicas.
const skew = 2 * time.Second

// newest returns what a proxy acknowledged to the replica that it connected to last. If that may be one of several, it returns all of them.
func (s *sessions) newest(proxy xds.Identity) []acked {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last time.Time
	for _, own := range s.bySource {
		if found := own[proxy]; found != nil && found.since.After(last) {
			last = found.since
		}
	}
	var states []acked
	for _, own := range s.bySource {
		if found := own[proxy]; found != nil && last.Sub(found.since) <= skew {
			states = append(states, found.acked)
		}
	}
	return states
}
