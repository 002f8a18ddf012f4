package store

import "slices"

// Ref names one thing a computation can read: a record of a table, the bucket of an index, or (with the space of a table's
// keys) the set of all keys. It exists whether or not the record does, so that a miss can be recorded too.
type Ref struct {
	Space Space
	Key   string
}

// Space numbers the tables and indexes of a Store in the order they were made.
type Space uint32

// Store holds tables that change together. It is used from one goroutine.
type Store struct {
	spaces   []string
	tables   []AnyTable
	onChange func(Ref)
}

// AnyTable is a table whatever its records are. Nothing that it does is recorded.
type AnyTable interface {
	// Name is the name that the table was made with.
	Name() string
	// Each calls fn for every key, in no particular order.
	Each(fn func(key string))
	// Record returns the record of a key.
	Record(key string) (any, bool)
	Delete(key string)
}

// Tables returns every table of the Store, in the order they were made.
func (s *Store) Tables() []AnyTable { return slices.Clone(s.tables) }

// New returns an empty Store.
func New() *Store { return &Store{onChange: func(Ref) {}} }

// OnChange calls fn for everything that changes from now on: the record itself and each bucket it joined or left.
func (s *Store) OnChange(fn func(Ref)) { s.onChange = fn }

// Name is the name a table or index was made with.
func (s *Store) Name(space Space) string { return s.spaces[space] }

func (s *Store) space(name string) Space {
	s.spaces = append(s.spaces, name)
	return Space(len(s.spaces) - 1) //nolint:gosec // there are a few dozen
}

// Source is a set of keys that something can be computed for: the keys of a table, or the buckets of an index.
type Source interface {
	// Space is where changes of the set are reported.
	Space() Space
	// Has says whether the key is in the set, without recording.
	Has(key string) bool
	// Each calls fn for every key of the set, in no particular order, without recording.
	Each(fn func(key string))
}
