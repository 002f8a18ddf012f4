package pipeline

import (
	"testing"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
)

// both is the two lanes side by side, run by hand.
type both struct {
	config    *graph
	endpoints *endpointGraph
}

func newBoth(options ...memo.Option) both {
	b := both{config: newGraph(options...), endpoints: newEndpointGraph(options...)}
	b.config.files, b.config.objects.System = true, fuzzobjects.System
	b.config.objects.EnabledExtensions = store.ExtensionTypes{ExtProc: true, Lua: true}
	b.config.objects.GlobalRateLimits = true
	return b
}

func (b both) apply(changes ...store.Change) {
	for _, c := range changes {
		b.config.objects.Apply(c)
		b.endpoints.objects.Apply(c)
	}
}

func (b both) run() {
	b.endpoints.memo.Run()
	idle := map[ir.Endpoints]bool{}
	b.endpoints.changes(func(of ir.Endpoints, none bool) { idle[of] = none })
	b.config.takeIdle(idle)
	b.config.memo.Run()
}

func TestIncrementalEqualsCold(t *testing.T) {
	t.Parallel()
	w := fuzzobjects.New(1, 2)
	warm := newBoth()
	current := map[subject]store.Change{}
	for step := range steps {
		c := w.Change()
		warm.apply(c)
		warm.run()
		if c.Object == nil {
			delete(current, subject{c.Kind, c.Key})
		} else {
			current[subject{c.Kind, c.Key}] = c
		}

		cold := newBoth()
		for _, c := range current {
			cold.apply(c)
		}
		cold.run()
		if diff := difference(t, cold, warm); diff != "" {
			t.Fatalf("step %d, after a change of %s %s (cold -, incremental +):\n%s", step, c.Kind, c.Key, diff)
		}
	}
}

// TestEveryChainOfAPortCanBeChosen: Envoy refuses a listener with two chains of one name or for the same clients, and with it all that
// shares the port.
func TestEveryChainOfAPortCanBeChosen(t *testing.T) {
	t.Parallel()
	shared, streams := 0, 0
	for seed := range uint64(4) {
		w := fuzzobjects.New(seed, 8)
		g := newGraph()
		for range steps {
			g.objects.Apply(w.Change())
			g.memo.Run()
			for _, key := range g.ports.Keys(nil) {
				port, _ := g.ports.Get(nil, key)
				streams += checkChains(t, key, port)
				if len(port.Chains) > 1 {
					shared++
				}
			}
		}
	}
	if shared == 0 || streams == 0 {
		t.Errorf("there are too few objects: %d shared ports, %d streams", shared, streams)
	}
}

// checkChains fails the test if two chains of the port cannot be told apart. It returns how many chains are streams.
func checkChains(t *testing.T, key ir.PortID, port ir.Port) (streams int) {
	t.Helper()
	names, servers := map[string]bool{}, map[string]bool{}
	for _, c := range port.Chains {
		if names[c.Name] || servers[c.ServerName] {
			t.Fatalf("port %s has two chains like %+v: %+v", key, c, port.Chains)
		}
		names[c.Name], servers[c.ServerName] = true, true
		if c.Stream != nil {
			streams++
		}
	}
	return streams
}

func TestShuffledInputGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	w := fuzzobjects.New(3, 4)
	for round := range 50 {
		latest := map[subject]store.Change{}
		for range 120 {
			if c := w.Change(); c.Object != nil {
				latest[subject{c.Kind, c.Key}] = c
			}
		}
		var changes []store.Change
		for _, c := range latest {
			changes = append(changes, c)
		}
		var first *both
		for range 4 {
			w.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			b := newBoth()
			for i, c := range changes {
				b.apply(c)
				if i%7 == 0 {
					b.run()
				}
			}
			b.run()
			if first == nil {
				first = &b
			} else if diff := difference(t, *first, b); diff != "" {
				t.Fatalf("round %d: another order gives another result:\n%s", round, diff)
			}
		}
	}
}

func TestWithoutCacheGivesTheSame(t *testing.T) {
	t.Parallel()
	w := fuzzobjects.New(5, 6)
	cached, uncached := newBoth(), newBoth(memo.WithoutCache())
	for range 300 {
		c := w.Change()
		cached.apply(c)
		uncached.apply(c)
		cached.run()
		uncached.run()
		if diff := difference(t, uncached, cached); diff != "" {
			t.Fatalf("after a change of %s %s (without cache -, with +):\n%s", c.Kind, c.Key, diff)
		}
	}
}

// TestHostileObjects goes from one hostile set of objects to the next, with no definition to reject anything.
func TestHostileObjects(t *testing.T) {
	t.Parallel()
	warm := newBoth()
	current := map[subject]store.Change{}
	for n := range uint64(100) {
		next := map[subject]store.Change{}
		for _, c := range (fuzzobjects.HostileGenerator{Generator: fuzzobjects.New(9, n)}).Set(func(c store.Change) (store.Change,
			error,
		) {
			return c, nil
		}) {
			next[subject{c.Kind, c.Key}] = c
			warm.apply(c)
		}
		for s := range current {
			if _, stays := next[s]; !stays {
				warm.apply(store.Change{Kind: s.kind, Key: s.key})
			}
		}
		warm.run()
		current = next

		cold := newBoth()
		for _, c := range current {
			cold.apply(c)
		}
		cold.run()
		if diff := difference(t, cold, warm); diff != "" {
			t.Fatalf("set %d (cold -, incremental +):\n%s", n, diff)
		}
	}
}
