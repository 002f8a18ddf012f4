package peers

import (
	"slices"
	"sync"

	"github.com/gatewright/gatewright/internal/xds"
)

// nacks are those of proxies of other replicas. They are stored because this replica may come to serve the same version later.
type nacks struct {
	mu      sync.Mutex
	byProxy map[source][]remembered
}

type source struct {
	replica string
	proxy   xds.Identity
}

type remembered struct {
	nack xds.NACK
	// passed reports that it has been passed on since this replica serves the version.
	passed bool
}

// set replaces the NACKs of a proxy.
func (r *nacks) set(replica string, e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := source{replica, e.proxy}
	before := r.byProxy[key]
	delete(r.byProxy, key)
	for _, nack := range e.nacks {
		known := slices.IndexFunc(before, func(m remembered) bool { return same(m.nack, nack) })
		r.byProxy[key] = append(r.byProxy[key], remembered{nack: nack, passed: known >= 0 && before[known].passed})
	}
}

func same(a, b xds.NACK) bool {
	return a.Type == b.Type && a.Table == b.Table && a.Name == b.Name && a.Version == b.Version && a.Filters == b.Filters &&
		a.Cluster == b.Cluster && slices.Equal(a.Routes, b.Routes)
}

// drop forgets the proxies of a replica.
func (r *nacks) drop(replica string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.byProxy {
		if key.replica == replica {
			delete(r.byProxy, key)
		}
	}
}

// check passes on the NACKs of versions that this replica serves, once each time it comes to serve one.
func (r *nacks) check(wants func(xds.GroupID, xds.NACK) bool, nacked func(xds.Identity, xds.NACK)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, list := range r.byProxy {
		for i := range list {
			wanted := wants(key.proxy.Group, list[i].nack)
			if wanted && !list[i].passed {
				nacked(key.proxy, list[i].nack)
			}
			list[i].passed = wanted
		}
	}
}
