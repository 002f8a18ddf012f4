package xds

import "time"

const (
	MaxReason          = maxReason
	MaxUnknown         = maxUnknown
	MaxUnknownBytes    = maxUnknownBytes
	LeastGone          = leastGone
	LeastGoneBytes     = leastGoneBytes
	LeastReceived      = leastReceived
	ListedName         = listedName
	ListedRoom         = listedRoom
	MaxUnanswered      = maxUnanswered
	MaxStreamsOfProxy  = maxStreamsOfProxy
	MaxUnauthenticated = maxUnauthenticated
	MaxStreams         = maxStreams
	RejectionDelay     = rejectionDelay
	WarmTimeout        = warmTimeout
	RefusedTimeout     = refusedTimeout
)

// Hurry has the server give up earlier on those who do not read.
func (s *Server) Hurry(timeout time.Duration) { s.sendTimeout = timeout }

// Roll has streams end where chance would have it.
func (s *Server) Roll(random func() float64) { s.random = random }

// Followed is how many streams follow each load assignment.
func (c *Cache) Followed() map[string]int {
	c.endpoints.mu.RLock()
	defer c.endpoints.mu.RUnlock()
	followed := map[string]int{}
	for name, streams := range c.endpoints.followers {
		followed[name] = len(streams)
	}
	return followed
}

// Groups is how many groups are kept.
func (c *Cache) Groups() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.groups)
}

// BeforeBisection is called whenever a stream is about to do the work of a search.
func (s *Server) BeforeBisection(work func()) { s.beforeBisection = work }

// Names says whether a message has the name of a cluster.
func Names(value []byte, cluster string) bool {
	_, found := newMissingClusters(map[string]bool{cluster: false}).in(value, false)
	return found
}
