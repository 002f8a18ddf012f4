package memo

import "github.com/gatewright/gatewright/internal/store"

// node is the place of one computed value in readers.
type node int32

// readers remembers who read what. An entry is good only while its epoch is the node's own, so that forgetting all reads of a node is
// one increment; entries that went stale are dropped when their Ref changes or when half of all entries are stale.
type readers struct {
	nodes []owner
	free  []node
	by    map[store.Ref][]entry
	// entries counts all entries of by, live only the good ones.
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

func newReaders() readers { return readers{by: map[store.Ref][]entry{}} }

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
		r.by[ref] = append(r.by[ref], entry{n, o.epoch})
	})
	o.reads = int32(v.Len()) //nolint:gosec // nothing reads 2^31 records
	r.entries += v.Len()
	r.live += v.Len()
}

// take calls fn for everybody who read ref. Their entries for it are removed: each is about to be computed again, which records it anew.
func (r *readers) take(ref store.Ref, fn func(s *stage, key string)) {
	list, ok := r.by[ref]
	if !ok {
		return
	}
	delete(r.by, ref)
	r.entries -= len(list)
	for _, e := range list {
		o := &r.nodes[e.node]
		if o.epoch != e.epoch {
			continue
		}
		o.reads--
		r.live--
		fn(o.stage, o.key)
	}
}

func (r *readers) sweep() {
	if r.entries <= 2*r.live+sweepSlack {
		return
	}
	r.entries = 0
	for ref, list := range r.by {
		kept := list[:0]
		for _, e := range list {
			if r.nodes[e.node].epoch == e.epoch {
				kept = append(kept, e)
			}
		}
		if len(kept) == 0 {
			delete(r.by, ref)
			continue
		}
		r.by[ref] = kept
		r.entries += len(kept)
	}
}
