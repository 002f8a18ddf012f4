package store

// ID is a comparable identity. Its text is the key of a row or of a bucket: different identities of a type have different texts.
//
// Tables keep the text, which needs less memory than most identities and is what a [Ref] holds. Only this file and
// [github.com/gatewright/gatewright/internal/memo.DeriveOf] convert between the two.
type ID interface {
	comparable
	String() string
}

// TableOf is a [Table] whose rows are identified by an [ID].
type TableOf[K ID, V any] struct {
	*Table[V]

	parse func(string) K
}

// NewTableOf adds a table to a Store. The function is the inverse of K's String.
func NewTableOf[K ID, V any](s *Store, name string, parse func(string) K) *TableOf[K, V] {
	return Typed(NewTable[V](s, name), parse)
}

// Typed is a table whose keys are texts of identities. The function is the inverse of K's String.
func Typed[K ID, V any](t *Table[V], parse func(string) K) *TableOf[K, V] {
	return &TableOf[K, V]{Table: t, parse: parse}
}

// Get is [Table.Get].
func (t *TableOf[K, V]) Get(v *View, id K) (V, bool) { return t.Table.Get(v, id.String()) }

// Has is [Table.Has].
func (t *TableOf[K, V]) Has(id K) bool { return t.Table.Has(id.String()) }

// Set is [Table.Set].
func (t *TableOf[K, V]) Set(id K, row V) { t.Table.Set(id.String(), row) }

// Delete is [Table.Delete].
func (t *TableOf[K, V]) Delete(id K) { t.Table.Delete(id.String()) }

// Keys are the identities of all rows, sorted by their texts; see [Table.Keys].
func (t *TableOf[K, V]) Keys(v *View) []K { return parsed(t.Table.Keys(v), t.parse) }

// TakeChanged is [Table.TakeChanged].
func (t *TableOf[K, V]) TakeChanged() []K { return parsed(t.Table.TakeChanged(), t.parse) }

// Source is the set of keys, for [SourceOf].
func (t *TableOf[K, V]) Source() Source { return t.Table }

func (*TableOf[K, V]) identifies(K) {}

func parsed[K any](texts []string, parse func(string) K) []K {
	ids := make([]K, len(texts))
	for i, text := range texts {
		ids[i] = parse(text)
	}
	return ids
}

// IndexOf is an [Index] whose buckets are identified by an [ID].
type IndexOf[B ID, V any] struct {
	*Index[V]
}

// NewIndexOf adds an index to a table that is still empty. The function returns the buckets that a record belongs in.
func NewIndexOf[B ID, V any](t *Table[V], name string, buckets func(key string, row V) []B) *IndexOf[B, V] {
	return &IndexOf[B, V]{Index: NewIndex(t, name, func(key string, row V) []string {
		ids := buckets(key, row)
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = id.String()
		}
		return texts
	})}
}

// Keys is [Index.Keys].
func (x *IndexOf[B, V]) Keys(v *View, bucket B) []string { return x.Index.Keys(v, bucket.String()) }

// Len is [Index.Len].
func (x *IndexOf[B, V]) Len(v *View, bucket B) int { return x.Index.Len(v, bucket.String()) }

// Has is [Index.Has].
func (x *IndexOf[B, V]) Has(bucket B) bool { return x.Index.Has(bucket.String()) }

// Source is the set of buckets, for [SourceOf].
func (x *IndexOf[B, V]) Source() Source { return x.Index }

func (*IndexOf[B, V]) identifies(B) {}

// SourceOf is a [Source] whose keys are texts of K: the rows of a [TableOf], or the buckets of an [IndexOf].
type SourceOf[K ID] interface {
	Source() Source
	identifies(id K)
}
