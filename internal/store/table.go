package store

import (
	"maps"
	"slices"
)

// Table holds records by key. Records are never modified once stored; a change is a new record.
type Table[V any] struct {
	store   *Store
	space   Space
	rows    map[string]V
	indexes []*Index[V]
	// counters are the [Sums] and [Distinct] of the records.
	counters []counter[V]
	// members is the space of the set of keys, reported only when a key comes or goes.
	members Space
	// pending collects the keys that changed since TakeChanged, if that was asked for.
	pending map[string]struct{}
	// replaced has the records that were replaced or deleted since TakeReplaced, if that was asked for.
	replaced map[string]V
}

// NewTable adds a table to a Store.
func NewTable[V any](s *Store, name string) *Table[V] {
	t := &Table[V]{store: s, space: s.space(name), members: s.space(name + ".keys"), rows: map[string]V{}}
	s.tables = append(s.tables, t)
	return t
}

// Name implements [AnyTable].
func (t *Table[V]) Name() string { return t.store.Name(t.space) }

// Record implements [AnyTable].
func (t *Table[V]) Record(key string) (any, bool) {
	row, ok := t.rows[key]
	return row, ok
}

// Get returns the record and records the read, whether or not there is one.
func (t *Table[V]) Get(v *View, key string) (V, bool) {
	v.record(t.store, Ref{t.space, key})
	row, ok := t.rows[key]
	return row, ok
}

// Keys returns all keys, sorted, and records that the set was read. The records themselves are not read by it.
func (t *Table[V]) Keys(v *View) []string {
	v.record(t.store, Ref{t.members, ""})
	return slices.Sorted(maps.Keys(t.rows))
}

// Len is the number of records. It is not recorded.
func (t *Table[V]) Len() int { return len(t.rows) }

// Space implements [Source].
func (t *Table[V]) Space() Space { return t.space }

// Has implements [Source].
func (t *Table[V]) Has(key string) bool {
	_, ok := t.rows[key]
	return ok
}

// Each implements [Source].
func (t *Table[V]) Each(fn func(key string)) {
	for key := range t.rows {
		fn(key)
	}
}

// Set stores a record and reports the change.
func (t *Table[V]) Set(key string, row V) {
	old, existed := t.rows[key]
	// A row that an index cannot read panics here, before anything has changed.
	before, after := make([][]string, len(t.indexes)), make([][]string, len(t.indexes))
	for i, index := range t.indexes {
		if existed {
			before[i] = index.buckets(key, old)
		}
		after[i] = index.buckets(key, row)
	}
	previous := &old
	if !existed {
		previous = nil
	}
	counts := t.count(key, previous, &row)
	t.replace(key, old, existed)
	t.rows[key] = row
	for i, index := range t.indexes {
		index.move(key, before[i], after[i])
	}
	counts()
	t.report(key, !existed)
}

// Delete removes a record, if there is one, and reports the change.
func (t *Table[V]) Delete(key string) {
	old, existed := t.rows[key]
	if !existed {
		return
	}
	counts := t.count(key, &old, nil)
	t.replace(key, old, true)
	delete(t.rows, key)
	for _, index := range t.indexes {
		index.move(key, index.buckets(key, old), nil)
	}
	counts()
	t.report(key, true)
}

// count reads what a change means for the counters, and returns what tells them.
func (t *Table[V]) count(key string, before, after *V) func() {
	var prepared []func()
	for _, c := range t.counters {
		if apply := c.prepare(key, before, after); apply != nil {
			prepared = append(prepared, apply)
		}
	}
	return func() {
		for _, apply := range prepared {
			apply()
		}
	}
}

// CollectChanges makes the table remember which keys change, for [Table.TakeChanged].
func (t *Table[V]) CollectChanges() { t.pending = map[string]struct{}{} }

// TakeChanged returns the keys that were set or deleted since it was last called, sorted.
func (t *Table[V]) TakeChanged() []string {
	if len(t.pending) == 0 {
		return nil
	}
	changed := slices.Sorted(maps.Keys(t.pending))
	// A map never gets smaller, and going through an empty one costs what it once held.
	t.pending = map[string]struct{}{}
	return changed
}

// CollectReplaced makes the table remember what is replaced, for [Table.TakeReplaced].
func (t *Table[V]) CollectReplaced() { t.replaced = map[string]V{} }

// TakeReplaced returns what the records that were replaced or deleted since it was last called were then.
func (t *Table[V]) TakeReplaced() map[string]V {
	if len(t.replaced) == 0 {
		return nil
	}
	replaced := t.replaced
	t.replaced = map[string]V{}
	return replaced
}

func (t *Table[V]) replace(key string, old V, existed bool) {
	if t.replaced == nil || !existed {
		return
	}
	if _, known := t.replaced[key]; !known {
		t.replaced[key] = old
	}
}

func (t *Table[V]) report(key string, membership bool) {
	if t.pending != nil {
		t.pending[key] = struct{}{}
	}
	t.store.onChange(Ref{t.space, key})
	if membership {
		t.store.onChange(Ref{t.members, ""})
	}
}
