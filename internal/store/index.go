package store

import (
	"maps"
	"slices"
)

// Index finds the keys of a table's records by something in them. A bucket's Ref changes when a key joins or leaves the bucket,
// not when a record that stays in it changes: a stage that reads that record has recorded it.
type Index[V any] struct {
	store   *Store
	space   Space
	buckets func(key string, row V) []string
	keys    map[string]bucket
}

// NewIndex adds an index to a table that is still empty. The function names the buckets a record belongs in.
func NewIndex[V any](t *Table[V], name string, buckets func(key string, row V) []string) *Index[V] {
	index := &Index[V]{store: t.store, space: t.store.space(name), buckets: buckets, keys: map[string]bucket{}}
	t.indexes = append(t.indexes, index)
	return index
}

// Keys returns the keys in a bucket, sorted, and records the read of the bucket.
func (x *Index[V]) Keys(v *View, name string) []string {
	v.record(x.store, Ref{x.space, name})
	return x.keys[name].sorted()
}

// Len is the number of keys in a bucket; it records the read of the bucket.
func (x *Index[V]) Len(v *View, name string) int {
	v.record(x.store, Ref{x.space, name})
	return x.keys[name].len()
}

// Space implements [Source]: the buckets that hold something.
func (x *Index[V]) Space() Space { return x.space }

// Has implements [Source].
func (x *Index[V]) Has(name string) bool {
	_, ok := x.keys[name]
	return ok
}

// Each implements [Source].
func (x *Index[V]) Each(fn func(name string)) {
	for name := range x.keys {
		fn(name)
	}
}

func (x *Index[V]) move(key string, before, after []string) {
	for _, name := range before {
		if !slices.Contains(after, name) {
			x.leave(name, key)
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			x.join(name, key)
		}
	}
}

func (x *Index[V]) join(name, key string) {
	if held, changed := x.keys[name].with(key); changed {
		x.keys[name] = held
		x.store.onChange(Ref{x.space, name})
	}
}

func (x *Index[V]) leave(name, key string) {
	held := x.keys[name].without(key)
	if held.len() == 0 {
		delete(x.keys, name)
	} else {
		x.keys[name] = held
	}
	x.store.onChange(Ref{x.space, name})
}

// bucket is a set of keys. Most hold one, which needs no map.
type bucket struct {
	one  string
	many map[string]struct{}
}

func (b bucket) len() int {
	switch {
	case b.many != nil:
		return len(b.many)
	case b.one != "":
		return 1
	default:
		return 0
	}
}

func (b bucket) sorted() []string {
	switch {
	case b.many != nil:
		return slices.Sorted(maps.Keys(b.many))
	case b.one != "":
		return []string{b.one}
	default:
		return nil
	}
}

func (b bucket) with(key string) (bucket, bool) {
	switch {
	case b.many != nil:
		if _, ok := b.many[key]; ok {
			return b, false
		}
		b.many[key] = struct{}{}
		return b, true
	case b.one == "":
		return bucket{one: key}, true
	case b.one == key:
		return b, false
	default:
		return bucket{many: map[string]struct{}{b.one: {}, key: {}}}, true
	}
}

func (b bucket) without(key string) bucket {
	if b.many == nil {
		if b.one == key {
			return bucket{}
		}
		return b
	}
	delete(b.many, key)
	return b
}
