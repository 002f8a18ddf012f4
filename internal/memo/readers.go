package memo

import (
	"slices"

	"github.com/gatewright/gatewright/internal/store"
)

// node is the place of one computed value in readers.
type node int32

// readers remembers who read what. An entry is good only while its epoch is the node's own, so that forgetting all reads of a node is
// one increment; entries that went stale are dropped when their Ref changes or when half of all entries are stale.
type readers struct {
	nodes []owner
	free  []node
	// first has one entry of each Ref that was read, and others the rest: most are read by one.
	first  map[store.Ref]entry
	others map[store.Ref][]entry
	// entries counts all entries, live only the good ones.
	entries int
	live    int
}

type owner struct {
	stage *stage
	key   string
	epoch uint32
	reads int32
}

type entry struct {
	node  node
	epoch uint32
}

// sweepSlack keeps small graphs from sweeping all the time.
const sweepSlack = 1024

func newReaders() readers {
	return readers{first: map[store.Ref]entry{}, others: map[store.Ref][]entry{}}
}

func (r *readers) allocate(s *stage, key string) node {
	if last := len(r.free) - 1; last >= 0 {
		n := r.free[last]
		r.free = r.free[:last]
		r.nodes[n].stage, r.nodes[n].key = s, key
		return n
	}
	r.nodes = append(r.nodes, owner{stage: s, key: key})
	return node(len(r.nodes) - 1) //nolint:gosec // there are fewer than 2^31 values
}

// forget makes every entry of a node stale.
func (r *readers) forget(n node) {
	o := &r.nodes[n]
	r.live -= int(o.reads)
	o.reads = 0
	o.epoch++
}

func (r *readers) release(n node) {
	r.forget(n)
	r.nodes[n].stage, r.nodes[n].key = nil, ""
	r.free = append(r.free, n)
}

// replace makes the reads of a view the only ones of a node.
func (r *readers) replace(n node, v *store.View) {
	r.forget(n)
	o := &r.nodes[n]
	v.Reads(func(ref store.Ref) {
		r.add(ref, entry{n, o.epoch})
	})
	o.reads = int32(v.Len()) //nolint:gosec // nothing reads 2^31 records
	r.entries += v.Len()
	r.live += v.Len()
}

func (r *readers) add(ref store.Ref, e entry) {
	if _, taken := r.first[ref]; taken {
		r.others[ref] = append(r.others[ref], e)
		return
	}
	r.first[ref] = e
}

// take calls fn for every reader of ref. Their entries for it are removed: each is about to be computed again, which records it anew.
func (r *readers) take(ref store.Ref, fn func(s *stage, key string)) {
	first, ok := r.first[ref]
	if !ok {
		return
	}
	delete(r.first, ref)
	others, more := r.others[ref]
	if more {
		delete(r.others, ref)
	}
	r.entries -= 1 + len(others)
	call := func(e entry) {
		if o := &r.nodes[e.node]; r.good(e) {
			o.reads--
			r.live--
			fn(o.stage, o.key)
		}
	}
	call(first)
	for _, e := range others {
		call(e)
	}
}

func (r *readers) good(e entry) bool { return r.nodes[e.node].epoch == e.epoch }

func (r *readers) sweep() {
	if r.entries <= 2*r.live+sweepSlack {
		return
	}
	r.entries = 0
	for ref, first := range r.first {
		kept := slices.DeleteFunc(r.others[ref], func(e entry) bool { return !r.good(e) })
		if !r.good(first) {
			if len(kept) == 0 {
				delete(r.first, ref)
				delete(r.others, ref)
				continue
			}
			r.first[ref] = kept[len(kept)-1]
			kept = kept[:len(kept)-1]
		}
		r.entries += 1 + len(kept)
		if len(kept) > 0 {
			r.others[ref] = kept
		} else {
			delete(r.others, ref)
		}
	}
}
