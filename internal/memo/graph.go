package memo

import (
	"maps"
	"slices"

	"github.com/gatewright/gatewright/internal/store"
)

// Graph is a list of stages over one Store. Each stage computes a table and reads only what stands before it, so one pass in order
// brings everything up to date and computes nothing twice. It is used from one goroutine.
type Graph struct {
	store  *store.Store
	stages []*stage
	// watching lists the stages that compute a value for each key of a space.
	watching map[store.Space][]*stage
	readers  readers
	always   bool
}

// Option changes how a Graph works.
type Option func(*Graph)

// WithoutCache computes everything on every Run, which is slow and must give the same tables.
func WithoutCache() Option { return func(g *Graph) { g.always = true } }

// New returns a Graph that follows the changes of a Store.
func New(s *store.Store, options ...Option) *Graph {
	g := &Graph{store: s, watching: map[store.Space][]*stage{}, readers: newReaders()}
	for _, option := range options {
		option(g)
	}
	s.OnChange(g.changed)
	return g
}

// stage computes one table.
type stage struct {
	name    string
	sources []store.Source
	view    *store.View
	// nodes maps each key that has a value to its place among the readers.
	nodes map[string]node
	dirty map[string]struct{}
	// compute stores the value for a key and says whether it differs from the one before; drop removes it.
	compute func(v *store.View, key string) bool
	drop    func(key string)
}

// Derive adds a stage: for each key of the sources, fn computes a value, which is stored in the table that is returned. Values that
// are equal to the one before are not stored again, so nothing after them is computed.
func Derive[V any](g *Graph, name string, sources []store.Source, equal func(a, b V) bool, fn func(v *store.View, key string) V) *store.Table[V] {
	table := store.NewTable[V](g.store, name)
	s := &stage{
		name:    name,
		sources: sources,
		view:    store.NewView(table.Space()),
		nodes:   map[string]node{},
		dirty:   map[string]struct{}{},
		drop:    table.Delete,
		compute: func(v *store.View, key string) bool {
			before, existed := table.Get(nil, key)
			after := fn(v, key)
			if existed && equal(before, after) {
				return false
			}
			table.Set(key, after)
			return true
		},
	}
	g.stages = append(g.stages, s)
	for _, source := range sources {
		g.watching[source.Space()] = append(g.watching[source.Space()], s)
	}
	return table
}

// Report counts what a Run did.
type Report struct {
	// Computed and Changed count, for each stage, the values that were computed and those that came out different.
	Computed map[string]int
	Changed  map[string]int
}

// Run brings every table up to date with the changes since the last Run.
func (g *Graph) Run() Report {
	report := Report{Computed: map[string]int{}, Changed: map[string]int{}}
	for _, s := range g.stages {
		if g.always {
			s.markAll()
		}
		if len(s.dirty) == 0 {
			continue
		}
		// A map never gets smaller, and going through an empty one costs what it once held, so each Run has its own.
		dirty := s.dirty
		s.dirty = map[string]struct{}{}
		for _, key := range slices.Sorted(maps.Keys(dirty)) {
			g.update(s, key, report)
		}
	}
	g.readers.sweep()
	return report
}

func (g *Graph) update(s *stage, key string, report Report) {
	n, exists := s.nodes[key]
	if !s.wanted(key) {
		if exists {
			g.readers.release(n)
			delete(s.nodes, key)
			s.drop(key)
			report.Changed[s.name]++
		}
		return
	}
	if !exists {
		n = g.readers.allocate(s, key)
		s.nodes[key] = n
	}
	s.view.Reset()
	report.Computed[s.name]++
	if s.compute(s.view, key) {
		report.Changed[s.name]++
	}
	g.readers.replace(n, s.view)
}

// changed marks whatever has to be computed again because of ref. It only ever marks stages after the one that is running.
func (g *Graph) changed(ref store.Ref) {
	for _, s := range g.watching[ref.Space] {
		s.dirty[ref.Key] = struct{}{}
	}
	g.readers.take(ref, func(s *stage, key string) { s.dirty[key] = struct{}{} })
}

func (s *stage) wanted(key string) bool {
	for _, source := range s.sources {
		if source.Has(key) {
			return true
		}
	}
	return false
}

func (s *stage) markAll() {
	for _, source := range s.sources {
		source.Each(func(key string) { s.dirty[key] = struct{}{} })
	}
}
