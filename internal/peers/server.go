package peers

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// maxOffer is the maximum size of an offer, and maxOffers that of all of them. Without an offer other replicas answer 500 for the route.
	maxOffer  = 1 << 20
	maxOffers = 64 << 20
	// maxNACKs is the number of NACKs that are published of a proxy, the newest, and maxNACKBytes their size. Every replica has those of all
	// proxies in memory.
	maxNACKs     = 64
	maxNACKBytes = 128 << 10
)

// Server publishes the state of this replica's proxies to other replicas. It is an [xds.Observer] of the proxies.
type Server struct {
	cachev3.ConfigWatcher
	linear *cachev3.LinearCache
	log    *slog.Logger

	mu      sync.Mutex
	entries map[xds.Identity]*record
	changed map[xds.Identity]struct{}
	// offers are the substitutes of quarantined routes, by key, and offered the keys of those that changed.
	offers  map[string]offer
	offered map[string]struct{}
	// offeredBytes is the size of all offers.
	offeredBytes int
	wake         chan struct{}
}

// record is the entry of a proxy, with the number of its streams.
type record struct {
	entry
	streams int
}

var _ xds.Observer = (*Server)(nil)

// NewServer returns a Server of no proxies.
func NewServer(log *slog.Logger) *Server {
	linear := cachev3.NewLinearCache(TypeURL)
	return &Server{
		ConfigWatcher: linear, linear: linear, log: log,
		entries: map[xds.Identity]*record{}, changed: map[xds.Identity]struct{}{},
		offers: map[string]offer{}, offered: map[string]struct{}{}, wake: make(chan struct{}, 1),
	}
}

// Connected implements [xds.Observer].
func (s *Server) Connected(proxy xds.Identity) {
	s.update(proxy, func(p *record) {
		p.streams++
		p.since, p.state, p.left = time.Now(), "", false
	})
}

// Disconnected implements [xds.Observer].
func (s *Server) Disconnected(proxy xds.Identity) {
	s.update(proxy, func(p *record) { p.streams-- })
}

// Holds implements [xds.Observer].
func (s *Server) Holds(proxy xds.Identity, state string) {
	s.update(proxy, func(p *record) { p.state, p.left = state, false })
}

// Leaves implements [xds.Observer].
func (s *Server) Leaves(proxy xds.Identity) {
	s.update(proxy, func(p *record) { p.left = true })
}

// Offer publishes the substitute of a route whose version proxies reject.
func (s *Server) Offer(key, rejected string, instead []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.offers[key]; ok && known.rejected == rejected && bytes.Equal(known.instead, instead) {
		return
	}
	s.withdraw(key)
	if len(instead) <= maxOffer && s.offeredBytes+len(instead) <= maxOffers {
		s.offers[key] = offer{key, rejected, instead}
		s.offeredBytes += len(instead)
	}
	s.offered[key] = struct{}{}
	s.signal()
}

func (s *Server) withdraw(key string) {
	s.offeredBytes -= len(s.offers[key].instead)
	delete(s.offers, key)
}

// Withdraw removes an offer.
func (s *Server) Withdraw(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.offers[key]; known {
		s.withdraw(key)
		s.offered[key] = struct{}{}
		s.signal()
	}
}

func (s *Server) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// NACKed implements [xds.Observer].
func (s *Server) NACKed(proxy xds.Identity, r xds.NACK) {
	s.update(proxy, func(p *record) {
		p.nacks = append(slices.DeleteFunc(p.nacks, func(old xds.NACK) bool {
			return old.Type == r.Type && old.Table == r.Table && old.Name == r.Name && slices.Equal(old.Routes, r.Routes)
		}), r)
		p.nacks = p.nacks[max(0, len(p.nacks)-maxNACKs):]
		for len(p.nacks) > 1 && sizeOf(p.nacks) > maxNACKBytes {
			p.nacks = slices.Delete(p.nacks, 0, 1)
		}
	})
}

// sizeOf returns the approximate size of NACKs in a message.
func sizeOf(nacks []xds.NACK) int {
	size := 0
	for _, r := range nacks {
		size += len(r.Table) + len(r.Name) + len(r.Version) + len(r.Reason) + len(r.Cluster.Name) + len(r.Cluster.Version)
		for _, route := range r.Routes {
			size += len(route)
		}
	}
	return size
}

func (s *Server) update(proxy xds.Identity, change func(*record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.entries[proxy]
	if p == nil {
		p = &record{entry: entry{proxy: proxy}}
		s.entries[proxy] = p
	}
	change(p)
	if p.streams <= 0 {
		delete(s.entries, proxy)
	}
	s.changed[proxy] = struct{}{}
	s.signal()
}

// Run publishes changes until the context is done.
func (s *Server) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			s.publish()
		}
	}
}

// publish sends everything that changed to the other replicas, in one update.
func (s *Server) publish() {
	updated, gone := map[string]types.Resource{}, []string(nil)
	s.mu.Lock()
	for proxy := range s.changed {
		if p := s.entries[proxy]; p != nil {
			updated[name(proxy)] = p.message()
		} else {
			gone = append(gone, name(proxy))
		}
	}
	for key := range s.offered {
		if o, ok := s.offers[key]; ok {
			updated[o.name()] = o.message()
		} else {
			gone = append(gone, offer{key: key}.name())
		}
	}
	clear(s.changed)
	clear(s.offered)
	s.mu.Unlock()
	if err := s.linear.UpdateResources(updated, gone); err != nil {
		s.log.Error("cannot publish the state of proxies to other replicas", "error", err)
	}
}
