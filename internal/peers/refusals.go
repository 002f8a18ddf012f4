package peers

import (
	"slices"
	"sync"

	"github.com/gatewright/gatewright/internal/xds"
)

// refusals remembers what proxies of other replicas do not take, since this replica may come to want it only later.
type refusals struct {
	mu      sync.Mutex
	byProxy map[source][]remembered
}

type source struct {
	replica string
	proxy   xds.Identity
}

type remembered struct {
	refusal xds.Refusal
	// passed says that it has been passed on since it came to be wanted.
	passed bool
}

// set replaces what is remembered of a proxy.
func (r *refusals) set(replica string, e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := source{replica, e.proxy}
	before := r.byProxy[key]
	delete(r.byProxy, key)
	for _, refusal := range e.refusals {
		known := slices.IndexFunc(before, func(m remembered) bool { return same(m.refusal, refusal) })
		r.byProxy[key] = append(r.byProxy[key], remembered{refusal: refusal, passed: known >= 0 && before[known].passed})
	}
}

func same(a, b xds.Refusal) bool {
	return a.Type == b.Type && a.Table == b.Table && a.Name == b.Name && a.Version == b.Version && a.Filters == b.Filters && slices.Equal(a.Routes, b.Routes)
}

// drop forgets the proxies of a replica.
func (r *refusals) drop(replica string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.byProxy {
		if key.replica == replica {
			delete(r.byProxy, key)
		}
	}
}

// check passes on what is wanted, once for each time that it comes to be.
func (r *refusals) check(wants func(string, xds.Refusal) bool, refused func(xds.Identity, xds.Refusal)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, list := range r.byProxy {
		for i := range list {
			wanted := wants(key.proxy.Gateway, list[i].refusal)
			if wanted && !list[i].passed {
				refused(key.proxy, list[i].refusal)
			}
			list[i].passed = wanted
		}
	}
}
