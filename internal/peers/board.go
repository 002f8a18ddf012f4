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
	// maxOffer is how large an offer may be, and maxOffers all of them together. Without it other replicas answer 500 instead of the route.
	maxOffer  = 1 << 20
	maxOffers = 64 << 20
	// maxRefusals is how many of a proxy's refusals are shown, the newest, and maxRefusalBytes how large they may be together. Every
	// replica has those of all proxies in memory.
	maxRefusals     = 64
	maxRefusalBytes = 128 << 10
)

// Board is what other replicas may know of the proxies of this one. It hears of them as an [xds.Observer], and other replicas watch it.
type Board struct {
	cachev3.ConfigWatcher
	linear *cachev3.LinearCache
	log    *slog.Logger

	mu      sync.Mutex
	entries map[xds.Identity]*posted
	changed map[xds.Identity]struct{}
	// offers are what is served instead of routes, by key, and offered the keys of those that changed.
	offers  map[string]offer
	offered map[string]struct{}
	// offeredBytes is how large the offers are together.
	offeredBytes int
	wake         chan struct{}
}

// posted is the entry of a proxy while it has streams.
type posted struct {
	entry
	streams int
}

var _ xds.Observer = (*Board)(nil)

// NewBoard returns an empty board.
func NewBoard(log *slog.Logger) *Board {
	linear := cachev3.NewLinearCache(TypeURL)
	return &Board{
		ConfigWatcher: linear, linear: linear, log: log,
		entries: map[xds.Identity]*posted{}, changed: map[xds.Identity]struct{}{},
		offers: map[string]offer{}, offered: map[string]struct{}{}, wake: make(chan struct{}, 1),
	}
}

// Connected puts a proxy on the board.
func (b *Board) Connected(proxy xds.Identity) {
	b.update(proxy, func(p *posted) {
		p.streams++
		p.since, p.state, p.left = time.Now(), "", false
	})
}

// Disconnected takes it off.
func (b *Board) Disconnected(proxy xds.Identity) {
	b.update(proxy, func(p *posted) { p.streams-- })
}

// Holds shows the state that a proxy has.
func (b *Board) Holds(proxy xds.Identity, state string) {
	b.update(proxy, func(p *posted) { p.state, p.left = state, false })
}

// Leaves shows that a proxy is about to be sent something else.
func (b *Board) Leaves(proxy xds.Identity) {
	b.update(proxy, func(p *posted) { p.left = true })
}

// Offer shows what is served instead of a refused version of a route.
func (b *Board) Offer(key, refused string, instead []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, ok := b.offers[key]; ok && known.refused == refused && bytes.Equal(known.instead, instead) {
		return
	}
	b.withdraw(key)
	if len(instead) <= maxOffer && b.offeredBytes+len(instead) <= maxOffers {
		b.offers[key] = offer{key, refused, instead}
		b.offeredBytes += len(instead)
	}
	b.offered[key] = struct{}{}
	b.ring()
}

func (b *Board) withdraw(key string) {
	b.offeredBytes -= len(b.offers[key].instead)
	delete(b.offers, key)
}

// Withdraw shows it no more.
func (b *Board) Withdraw(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.offers[key]; known {
		b.withdraw(key)
		b.offered[key] = struct{}{}
		b.ring()
	}
}

func (b *Board) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Refused shows what a proxy does not take.
func (b *Board) Refused(proxy xds.Identity, r xds.Refusal) {
	b.update(proxy, func(p *posted) {
		p.refusals = append(slices.DeleteFunc(p.refusals, func(old xds.Refusal) bool {
			return old.Type == r.Type && old.Table == r.Table && old.Name == r.Name && slices.Equal(old.Routes, r.Routes)
		}), r)
		p.refusals = p.refusals[max(0, len(p.refusals)-maxRefusals):]
		for len(p.refusals) > 1 && sizeOf(p.refusals) > maxRefusalBytes {
			p.refusals = slices.Delete(p.refusals, 0, 1)
		}
	})
}

// sizeOf is about how large refusals are on a board.
func sizeOf(refusals []xds.Refusal) int {
	size := 0
	for _, r := range refusals {
		size += len(r.Table) + len(r.Name) + len(r.Version) + len(r.Reason)
		for _, route := range r.Routes {
			size += len(route)
		}
	}
	return size
}

func (b *Board) update(proxy xds.Identity, change func(*posted)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.entries[proxy]
	if p == nil {
		p = &posted{entry: entry{proxy: proxy}}
		b.entries[proxy] = p
	}
	change(p)
	if p.streams <= 0 {
		delete(b.entries, proxy)
	}
	b.changed[proxy] = struct{}{}
	b.ring()
}

// Run shows what is new until the context is done.
func (b *Board) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wake:
			b.show()
		}
	}
}

// show brings everything that changed to those who watch, at once.
func (b *Board) show() {
	shown, gone := map[string]types.Resource{}, []string(nil)
	b.mu.Lock()
	for proxy := range b.changed {
		if p := b.entries[proxy]; p != nil {
			shown[name(proxy)] = p.message()
		} else {
			gone = append(gone, name(proxy))
		}
	}
	for key := range b.offered {
		if o, ok := b.offers[key]; ok {
			shown[o.name()] = o.message()
		} else {
			gone = append(gone, offer{key: key}.name())
		}
	}
	clear(b.changed)
	clear(b.offered)
	b.mu.Unlock()
	if err := b.linear.UpdateResources(shown, gone); err != nil {
		b.log.Error("other replicas can not be told about proxies", "error", err)
	}
}
