package memo

import (
	"fmt"
	"maps"
	"runtime/debug"
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
	contain  bool
	computed func(stage, key string)
}

// Option changes how a Graph works.
type Option func(*Graph)

// WithoutCache computes everything on every Run, which is slow and must give the same tables.
func WithoutCache() Option { return func(g *Graph) { g.always = true } }

// ContainPanics has a panic of a stage concern its key alone: it keeps the value it has, or has none, until something that the stage read
// changes, unless there is [OnPanic]. [Report] says so.
func ContainPanics() Option { return func(g *Graph) { g.contain = true } }

// OnComputed has fn called when a stage has computed the value for a key, before it is stored. It is for tests, which panic there.
func OnComputed(fn func(stage, key string)) Option { return func(g *Graph) { g.computed = fn } }

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
	// failed are the keys for which the stage panicked last.
	failed map[string]struct{}
	// compute stores the value for a key and says whether it differs from the one before; drop removes it.
	compute func(v *store.View, key string) bool
	drop    func(key string)
	// instead stores what a key has instead of a value that could not be computed, and says whether it differs from the one before. It may
	// be nil.
	instead func(v *store.View, key, reason string) bool
}

// Setting changes a stage that computes values of a type.
type Setting[V any] func(*settings[V])

type settings[V any] struct {
	instead func(v *store.View, key string, last V, reason string) V
}

// OnPanic has a key for which the stage panics take the value that fn makes of the last one, which is zero if there is none.
func OnPanic[V any](fn func(v *store.View, key string, last V, reason string) V) Setting[V] {
	return func(s *settings[V]) { s.instead = fn }
}

// Derive adds a stage: for each key of the sources, fn computes a value, which is stored in the table that is returned. Values that
// are equal to the one before are not stored again, so nothing after them is computed.
func Derive[V any](
	g *Graph, name string, sources []store.Source, equal func(a, b V) bool, fn func(v *store.View, key string) V, set ...Setting[V],
) *store.Table[V] {
	var own settings[V]
	for _, apply := range set {
		apply(&own)
	}
	table := store.NewTable[V](g.store, name)
	put := func(key string, before V, existed bool, after V) bool {
		if existed && equal(before, after) {
			return false
		}
		table.Set(key, after)
		return true
	}
	s := &stage{
		name:    name,
		sources: sources,
		view:    store.NewView(table.Space()),
		nodes:   map[string]node{},
		dirty:   map[string]struct{}{},
		failed:  map[string]struct{}{},
		drop:    table.Delete,
		compute: func(v *store.View, key string) bool {
			before, existed := table.Get(nil, key)
			after := fn(v, key)
			if g.computed != nil {
				g.computed(name, key)
			}
			return put(key, before, existed, after)
		},
	}
	if own.instead != nil {
		s.instead = func(v *store.View, key, reason string) bool {
			before, existed := table.Get(nil, key)
			return put(key, before, existed, own.instead(v, key, before, reason))
		}
	}
	g.stages = append(g.stages, s)
	for _, source := range sources {
		g.watching[source.Space()] = append(g.watching[source.Space()], s)
	}
	return table
}

// DeriveOf is [Derive] for keys that identify something. The function parse is the inverse of K's String.
func DeriveOf[K store.ID, V any](
	g *Graph, name string, parse func(string) K, sources []store.SourceOf[K], equal func(a, b V) bool, fn func(v *store.View, id K) V,
	set ...Setting[V],
) *store.TableOf[K, V] {
	untyped := make([]store.Source, len(sources))
	for i, source := range sources {
		untyped[i] = source.Source()
	}
	table := Derive(g, name, untyped, equal, func(v *store.View, key string) V { return fn(v, parse(key)) }, set...)
	return store.Typed(table, parse)
}

// Stages returns the names of the stages, in order.
func (g *Graph) Stages() []string {
	names := make([]string, len(g.stages))
	for i, s := range g.stages {
		names[i] = s.name
	}
	return names
}

// Report counts what a Run did.
type Report struct {
	// Computed and Changed count, for each stage, the values that were computed and those that came out different.
	Computed map[string]int
	Changed  map[string]int
	// Failed are the values for which a stage panicked, and Recovered those for which it no longer does, or which are no longer wanted.
	Failed    []Failure
	Recovered []Failure
}

// Failure is a panic of a stage.
type Failure struct {
	Stage, Key string
	// Reason is what the stage panicked with, and Stack is where.
	Reason, Stack string
}

// Run brings every table up to date with the changes since the last Run.
func (g *Graph) Run() Report {
	report := &Report{Computed: map[string]int{}, Changed: map[string]int{}}
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
	return *report
}

func (g *Graph) update(s *stage, key string, report *Report) {
	n, exists := s.nodes[key]
	if !s.wanted(key) {
		if exists {
			g.readers.release(n)
			delete(s.nodes, key)
			s.drop(key)
			report.Changed[s.name]++
			s.recovered(key, report)
		}
		return
	}
	if !exists {
		n = g.readers.allocate(s, key)
		s.nodes[key] = n
	}
	s.view.Reset()
	report.Computed[s.name]++
	changed, failure := g.try(s, key, func() bool { return s.compute(s.view, key) })
	if failure == nil {
		s.recovered(key, report)
	} else {
		s.failed[key] = struct{}{}
		report.Failed = append(report.Failed, *failure)
		if s.instead != nil {
			changed, _ = g.try(s, key, func() bool { return s.instead(s.view, key, failure.Reason) })
		}
	}
	if changed {
		report.Changed[s.name]++
	}
	g.readers.replace(n, s.view)
}

// try says whether a value came out different. If panics are contained, they end here: whatever an object made the stage do, the others go
// on.
func (g *Graph) try(s *stage, key string, compute func() bool) (changed bool, failure *Failure) {
	if !g.contain {
		return compute(), nil
	}
	defer func() {
		if p := recover(); p != nil {
			failure = &Failure{Stage: s.name, Key: key, Reason: fmt.Sprint(p), Stack: string(debug.Stack())}
		}
	}()
	return compute(), nil
}

func (s *stage) recovered(key string, report *Report) {
	if _, failed := s.failed[key]; failed {
		delete(s.failed, key)
		report.Recovered = append(report.Recovered, Failure{Stage: s.name, Key: key})
	}
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
