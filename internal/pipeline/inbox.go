package pipeline

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
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
	// nacks are the NACKs of proxies.
	nacks map[quarantine.NACK]quarantine.Report
	// nacked counts them by group.
	nacked map[xds.GroupID]int
	// offers are what other replicas serve instead of what their proxies rejected.
	offers map[quarantine.OfferID]quarantine.Offer
	// idling says of endpoints that there are none, or some again.
	idling map[ir.Endpoints]bool
	wake   chan struct{}
	// soon is set while a round is to begin after a pause.
	soon atomic.Bool
}

// pause is how long a round waits for more of the same: a proxy that has disconnected may be at another replica soon, and others may do
// the same.
const pause = time.Second

// shortReason limits the reasons of NACKs while there are many.
const shortReason = 64

type subject struct {
	kind store.Kind
	key  string
}

func newInbox() *inbox {
	return &inbox{
		pending: map[subject]store.Change{}, nacks: map[quarantine.NACK]quarantine.Report{}, offers: map[quarantine.OfferID]quarantine.Offer{},
		nacked: map[xds.GroupID]int{}, idling: map[ir.Endpoints]bool{}, wake: make(chan struct{}, 1),
	}
}

func (i *inbox) put(c store.Change) {
	i.mu.Lock()
	i.begin()
	i.pending[subject{c.Kind, c.Key}] = c
	i.mu.Unlock()
	i.signal()
}

// nack takes in a NACK of a proxy.
func (i *inbox) nack(r quarantine.NACK, report quarantine.Report) {
	i.mu.Lock()
	i.begin()
	if _, known := i.nacks[r]; !known && len(i.nacks) >= quarantine.MaxNACKs {
		// A proxy does not repeat it. Without routes there is one for each version of a resource and each cause, at most.
		r.Routes, r.Together = "", false
		report.Reason = strings.ToValidUTF8(strings.Clone(report.Reason[:min(len(report.Reason), shortReason)]), "")
	}
	i.nacks[r] = i.nacks[r].With(report)
	i.nacked[r.Group]++
	i.mu.Unlock()
	i.signal()
}

// offer takes in what another replica serves instead, or that it does not any more. Only new offers have a limit: a withdrawal comes once.
func (i *inbox) offer(id quarantine.OfferID, o quarantine.Offer) {
	i.mu.Lock()
	i.begin()
	if _, known := i.offers[id]; known || o.Withdrawn() || len(i.offers) < quarantine.MaxOffers {
		i.offers[id] = i.offers[id].With(o)
	}
	i.mu.Unlock()
	i.signal()
}

// idle takes in which endpoints are none, and which are some again.
func (i *inbox) idle(changed map[ir.Endpoints]bool) {
	i.mu.Lock()
	i.begin()
	maps.Copy(i.idling, changed)
	i.mu.Unlock()
	i.signal()
}

// again asks for a round although nothing came in.
func (i *inbox) again() {
	i.mu.Lock()
	i.begin()
	i.mu.Unlock()
	i.signal()
}

// againSoon asks for a round after a pause.
func (i *inbox) againSoon() {
	if i.soon.CompareAndSwap(false, true) {
		time.AfterFunc(pause, func() {
			i.soon.Store(false)
			i.again()
		})
	}
}

// begin notes the time of the first that comes in. The lock is held.
func (i *inbox) begin() {
	if i.since.IsZero() {
		i.since = time.Now()
	}
}

func (i *inbox) signal() {
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// batch is what came in since the last one.
type batch struct {
	changes []store.Change
	since   time.Time
	nacks   map[quarantine.NACK]quarantine.Report
	nacked  map[xds.GroupID]int
	offers  map[quarantine.OfferID]quarantine.Offer
	idling  map[ir.Endpoints]bool
}

func (i *inbox) take() batch {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.taken, i.open = time.Now(), true
	i.begin()
	b := batch{
		changes: make([]store.Change, 0, len(i.pending)), since: i.since, nacks: i.nacks, nacked: i.nacked, offers: i.offers, idling: i.idling,
	}
	for _, c := range i.pending {
		b.changes = append(b.changes, c)
	}
	i.since, i.pending = time.Time{}, map[subject]store.Change{}
	i.nacks, i.nacked = map[quarantine.NACK]quarantine.Report{}, map[xds.GroupID]int{}
	i.offers = map[quarantine.OfferID]quarantine.Offer{}
	i.idling = map[ir.Endpoints]bool{}
	return b
}

// done says that what was taken has been handed out.
func (i *inbox) done() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.taken = time.Time{}
}

// age is for how long the oldest batch has not been handed out: since it was taken, or since it came in if it is not taken.
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
