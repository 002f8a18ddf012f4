package proof

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gatewright/gatewright/internal/xds"
)

// sessions is what proxies say of themselves, on this replica and on others. It has a lock of its own, which nothing holds for long: it is
// written to from within the xDS server. What changed is remembered by Gateway, so it never holds more than there are proxies.
type sessions struct {
	mu sync.Mutex
	// bySource has the proxies connected to each replica; the source of this one is empty.
	bySource map[string]map[xds.Identity]*session
	changed  map[string]struct{}
	wake     chan struct{}
}

// session is one proxy on one replica. A proxy that connects again may have two streams for a moment.
type session struct {
	streams int
	// since is when the newest stream began.
	since time.Time
	holding
}

// holding is the last state that a proxy had; left says that it has been sent something else since.
type holding struct {
	state string
	left  bool
}

func newSessions() *sessions {
	return &sessions{bySource: map[string]map[xds.Identity]*session{}, changed: map[string]struct{}{}, wake: make(chan struct{}, 1)}
}

func (s *sessions) touch(gateway string) {
	s.changed[gateway] = struct{}{}
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
	} else if streams > 0 {
		// It may have restarted, and what the stream before it proved is nothing that it has.
		own.since, own.holding = time.Now(), holding{}
	}
	s.touch(proxy.Gateway)
}

// replace says all there is to say of a proxy on another replica.
func (s *sessions) replace(source string, proxy xds.Identity, since time.Time, held holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.of(source, proxy) = session{streams: 1, since: since, holding: held}
	s.touch(proxy.Gateway)
}

func (s *sessions) holds(source string, proxy xds.Identity, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.bySource[source][proxy]; own != nil {
		own.holding = holding{state: state}
		s.touch(proxy.Gateway)
	}
}

// leaves proves nothing, so nobody is woken.
func (s *sessions) leaves(source string, proxy xds.Identity) {
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
		s.touch(proxy.Gateway)
	}
	delete(s.bySource, source)
}

// takeChanged returns the Gateways that something is new about.
func (s *sessions) takeChanged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	gateways := slices.Collect(maps.Keys(s.changed))
	clear(s.changed)
	return gateways
}

// skew is by how much the clocks of replicas may differ.
const skew = 2 * time.Second

// newest is what a proxy has by the replica that it connected to last. Where it may have been another one, nobody knows which, and all are
// listed.
func (s *sessions) newest(proxy xds.Identity) []holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last time.Time
	for _, own := range s.bySource {
		if found := own[proxy]; found != nil && found.since.After(last) {
			last = found.since
		}
	}
	var states []holding
	for _, own := range s.bySource {
		if found := own[proxy]; found != nil && last.Sub(found.since) <= skew {
			states = append(states, found.holding)
		}
	}
	return states
}
