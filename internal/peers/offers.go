package peers

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// offersKept is how long the offers of a replica are kept after its stream has ended. A replica that only lost the connection is back by
// then, and says what it still offers. And its proxies are connected to others by then, which offer the same.
const offersKept = time.Minute

// offers are the keys of what other replicas offer.
type offers struct {
	mu        sync.Mutex
	byReplica map[string]*offersOf
}

// offersOf are the keys of what one replica offers.
type offersOf struct {
	keys map[string]struct{}
	// complete reports that these are all: the first response of a stream names everything that there is.
	complete bool
	// ended is when the last stream did, zero after the first response of another one.
	ended time.Time
}

// take notes what a response offers and withdraws. It returns what has ended between this stream and the one before.
func (o *offers) take(replica string, offered, withdrawn []string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.byReplica[replica]
	if known == nil {
		known = &offersOf{}
		o.byReplica[replica] = known
	}
	var before []string
	if !known.complete {
		before = slices.Sorted(maps.Keys(known.keys))
		*known = offersOf{keys: map[string]struct{}{}, complete: true}
	}
	for _, key := range withdrawn {
		delete(known.keys, key)
	}
	for _, key := range offered {
		known.keys[key] = struct{}{}
	}
	return slices.DeleteFunc(before, func(key string) bool {
		_, still := known.keys[key]
		return still
	})
}

// end notes that the stream of a replica has ended.
func (o *offers) end(replica string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.byReplica[replica]; known != nil && known.complete {
		known.complete, known.ended = false, time.Now()
	}
}

// expire withdraws what replicas offered whose streams ended a while ago.
func (o *offers) expire(withdraw func(replica, key string)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for replica, known := range o.byReplica {
		if known.complete || time.Since(known.ended) < offersKept {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(known.keys)) {
			withdraw(replica, key)
		}
		delete(o.byReplica, replica)
	}
}
