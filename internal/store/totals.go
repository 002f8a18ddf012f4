package store

import (
	"maps"
	"slices"
)

// counter follows what changes in a table. It reads both records before anything has changed, and returns what is to be done then.
type counter[V any] interface {
	prepare(key string, before, after *V) func()
}

// Sums adds up something of a table's records, by bucket. What a change costs does not depend on how many records there are.
type Sums[V any] struct {
	store   *Store
	space   Space
	weights func(key string, row V) map[string]int
	totals  map[string]int
}

// NewSums adds sums to a table that is still empty. The function says what a record adds to which buckets.
func NewSums[V any](t *Table[V], name string, weights func(key string, row V) map[string]int) *Sums[V] {
	sums := &Sums[V]{store: t.store, space: t.store.space(name), weights: weights, totals: map[string]int{}}
	t.counters = append(t.counters, sums)
	return sums
}

// Get is the sum of a bucket; it records the read of it.
func (s *Sums[V]) Get(v *View, name string) int {
	v.record(s.store, Ref{s.space, name})
	return s.totals[name]
}

func (s *Sums[V]) prepare(key string, before, after *V) func() {
	var old, fresh map[string]int
	if before != nil {
		old = s.weights(key, *before)
	}
	if after != nil {
		fresh = s.weights(key, *after)
	}
	if maps.Equal(old, fresh) {
		return nil
	}
	return func() {
		for name, weight := range old {
			if fresh[name] != weight {
				s.add(name, fresh[name]-weight)
			}
		}
		for name, weight := range fresh {
			if _, known := old[name]; !known {
				s.add(name, weight)
			}
		}
	}
}

func (s *Sums[V]) add(name string, difference int) {
	if difference == 0 {
		return
	}
	if s.totals[name] += difference; s.totals[name] == 0 {
		delete(s.totals, name)
	}
	s.store.onChange(Ref{s.space, name})
}

// Distinct counts different items that a table's records have, by bucket: one that several have counts once.
type Distinct[V any] struct {
	store *Store
	space Space
	items func(key string, row V) map[string][]string
	// users counts the records that have an item.
	users map[string]map[string]int
}

// NewDistinct adds such a count to a table that is still empty. The function names the items that a record has in buckets, each once.
func NewDistinct[V any](t *Table[V], name string, items func(key string, row V) map[string][]string) *Distinct[V] {
	distinct := &Distinct[V]{store: t.store, space: t.store.space(name), items: items, users: map[string]map[string]int{}}
	t.counters = append(t.counters, distinct)
	return distinct
}

// Len is the number of different items in a bucket; it records the read of it.
func (d *Distinct[V]) Len(v *View, name string) int {
	v.record(d.store, Ref{d.space, name})
	return len(d.users[name])
}

func (d *Distinct[V]) prepare(key string, before, after *V) func() {
	var old, fresh map[string][]string
	if before != nil {
		old = d.items(key, *before)
	}
	if after != nil {
		fresh = d.items(key, *after)
	}
	if maps.EqualFunc(old, fresh, slices.Equal[[]string]) {
		return nil
	}
	return func() {
		for name, items := range fresh {
			d.add(name, items, 1)
		}
		for name, items := range old {
			d.add(name, items, -1)
		}
	}
}

func (d *Distinct[V]) add(name string, items []string, difference int) {
	users := d.users[name]
	if users == nil {
		users = map[string]int{}
		d.users[name] = users
	}
	before := len(users)
	for _, item := range items {
		if users[item] += difference; users[item] == 0 {
			delete(users, item)
		}
	}
	if len(users) == 0 {
		delete(d.users, name)
	}
	if len(users) != before {
		d.store.onChange(Ref{d.space, name})
	}
}
