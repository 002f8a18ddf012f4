package proof

import (
	"slices"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// maxStates is how many states of a Gateway are remembered. A proxy that reports an older one counts for nothing until it has caught up.
const maxStates = 4096

// book is what is known about the proxies of one Gateway, or of all who share them.
type book struct {
	// group is whom the proxies serve, by the name that they go by.
	group string
	// states numbers the states that the proxies were to have, and order lists them from oldest to newest. A state that came back has its
	// newest number there, and its first one in earliest.
	states   map[string]int
	earliest map[string]int
	order    []string
	last     int
	// proven is the highest number that all ready proxies have been found to have at one time.
	proven int
	// waiting are the objects whose state is not proven.
	waiting map[subject]wait
	// services has `namespace/name` of the Service that leads to the proxies, for each Gateway, and delivery is how they are supplied.
	services map[string]string
	delivery ir.Delivery
	// unled are the Gateways that share the proxies, and whose Service has not led to them so far.
	unled map[string]bool
	// hindered is why they can not be supplied, empty if they can.
	hindered string
}

type wait struct {
	number int
	since  time.Time
	// late says that it has been said how long it takes.
	late bool
}

func newBook(group string) *book {
	return &book{group: group, services: map[string]string{}, unled: map[string]bool{}, states: map[string]int{xds.EmptyState: 0}, earliest: map[string]int{xds.EmptyState: 0}, proven: -1, waiting: map[subject]wait{}}
}

// afresh is a book that knows nothing but the last state there was to be.
func (b *book) afresh() *book {
	fresh := newBook(b.group)
	if len(b.order) > 0 {
		fresh.reach(b.order[len(b.order)-1])
	}
	return fresh
}

// reach notes the state that the proxies are to have from now on. A state it had before is the same state for proxies that still have it.
func (b *book) reach(state string) {
	if len(b.order) > 0 && b.order[len(b.order)-1] == state {
		return
	}
	b.last++
	b.states[state] = b.last
	if _, known := b.earliest[state]; !known {
		b.earliest[state] = b.last
	}
	b.order = append(b.order, state)
	if len(b.order) > maxStates {
		oldest := b.order[0]
		b.order = slices.Delete(b.order, 0, 1)
		if b.states[oldest] <= b.last-maxStates {
			delete(b.states, oldest)
			delete(b.earliest, oldest)
		}
	}
}

// await notes that an object is live when the present state is, and says whether it is already.
func (b *book) await(s subject, since time.Time) bool {
	if b.proven >= b.last {
		delete(b.waiting, s)
		return true
	}
	if before, waits := b.waiting[s]; waits {
		since = before.since
	}
	b.waiting[s] = wait{number: b.last, since: since}
	return false
}

// prove notes what all ready proxies have, and returns the objects that are live since.
func (b *book) prove(number int) map[subject]time.Time {
	if number <= b.proven {
		return nil
	}
	b.proven = number
	if len(b.waiting) == 0 {
		return nil
	}
	live := map[subject]time.Time{}
	for s, w := range b.waiting {
		if w.number <= number {
			live[s] = w.since
			delete(b.waiting, s)
		}
	}
	if len(b.waiting) == 0 {
		// A map never gets smaller, and going through an empty one costs what it once held.
		b.waiting = map[subject]wait{}
	}
	return live
}
