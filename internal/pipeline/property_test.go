package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/worldtest"
)

// both is the two lanes side by side, run by hand.
type both struct {
	config    *graph
	endpoints *endpointGraph
}

func newBoth(options ...memo.Option) both {
	b := both{config: newGraph(options...), endpoints: newEndpointGraph(options...)}
	b.config.files, b.config.objects.System = true, worldtest.System
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
	idle := map[string]bool{}
	b.endpoints.changes(func(name string, none bool) { idle[name] = none })
	b.config.takeIdle(idle)
	b.config.memo.Run()
}

// dump writes down everything that leaves the pipeline. Of a resource it writes the version, which is a SHA-256 of the bytes.
func (b both) dump(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	resources := func(name string, table *store.Table[translation]) {
		for _, key := range table.Keys(nil) {
			r, _ := table.Get(nil, key)
			if len(r.flaws) > 0 {
				t.Errorf("%s %s: the last check found %v", name, key, r.flaws)
			}
			fmt.Fprintln(&out, name, key, version(r.resource))
		}
	}
	resources("listener", b.config.listeners)
	resources("shared listener", b.config.shared.listeners)
	resources("table", b.config.tables)
	resources("virtual host", b.config.virtualHosts)
	resources("cluster", b.config.clusters)
	resources("certificate", b.config.certificates)
	resources("authorities", b.config.authorities)
	resources("endpoints", b.endpoints.assignments)
	write := func(name, key string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("writing %s %s: %v", name, key, err)
		}
		fmt.Fprintln(&out, name, key, string(text))
	}
	for _, key := range b.config.classes.Keys(nil) {
		class, _ := b.config.classes.Get(nil, key)
		write("class", key, class.Outcome)
	}
	for _, key := range b.config.shared.fleets.Keys(nil) {
		shared, _ := b.config.shared.fleets.Get(nil, key)
		write("shared fleet", key, shared)
	}
	for _, key := range b.config.gateways.Keys(nil) {
		write("fleet", key, b.config.held(nil)(key).Gateway)
		o, _ := b.config.gatewayStatus.Get(nil, key)
		write("gateway", key, o.outcome)
	}
	for _, key := range b.config.setStatus.Keys(nil) {
		o, _ := b.config.setStatus.Get(nil, key)
		write("listener set", key, o.outcome)
	}
	for _, key := range b.config.routeStatus.Keys(nil) {
		o, _ := b.config.routeStatus.Get(nil, key)
		write("route", key, o)
	}
	for _, policies := range b.config.policyOutcomes() {
		for _, key := range policies.outcomes.Keys(nil) {
			o, _ := policies.outcomes.Get(nil, key)
			write(string(policies.kind), key, o)
		}
	}
	for _, key := range b.config.xbackendStatus.Keys(nil) {
		s, _ := b.config.selections.Get(nil, key)
		write("selection "+s.uid, key, s.selector)
	}
	return out.String()
}

func TestIncrementalEqualsCold(t *testing.T) {
	t.Parallel()
	w := worldtest.New(1, 2)
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
		if diff := cmp.Diff(cold.dump(t), warm.dump(t)); diff != "" {
			t.Fatalf("step %d, after a change of %s %s (cold -, incremental +):\n%s", step, c.Kind, c.Key, diff)
		}
	}
}

// TestEveryChainOfAPortCanBeChosen: Envoy refuses a listener with two chains of one name or for the same clients, and with it all that
// shares the port.
func TestEveryChainOfAPortCanBeChosen(t *testing.T) {
	t.Parallel()
	w := worldtest.New(7, 8)
	g := newGraph()
	shared, streams := 0, 0
	for range steps {
		g.objects.Apply(w.Change())
		g.memo.Run()
		for _, key := range g.ports.Keys(nil) {
			port, _ := g.ports.Get(nil, key)
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
			if len(port.Chains) > 1 {
				shared++
			}
		}
	}
	if shared == 0 || streams == 0 {
		t.Errorf("the world is too small: %d shared ports, %d streams", shared, streams)
	}
}

func TestShuffledInputGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	w := worldtest.New(3, 4)
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
		var first string
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
			switch text := b.dump(t); {
			case first == "":
				first = text
			case text != first:
				t.Fatalf("round %d: another order gives another result:\n%s", round, cmp.Diff(first, text))
			}
		}
	}
}

func TestWithoutCacheGivesTheSame(t *testing.T) {
	t.Parallel()
	w := worldtest.New(5, 6)
	cached, uncached := newBoth(), newBoth(memo.WithoutCache())
	for range 300 {
		c := w.Change()
		cached.apply(c)
		uncached.apply(c)
		cached.run()
		uncached.run()
		if diff := cmp.Diff(uncached.dump(t), cached.dump(t)); diff != "" {
			t.Fatalf("after a change of %s %s (without cache -, with +):\n%s", c.Kind, c.Key, diff)
		}
	}
}

// TestOddWorlds goes from one wild world to the next, with no definition to turn anything away.
func TestOddWorlds(t *testing.T) {
	t.Parallel()
	warm := newBoth()
	current := map[subject]store.Change{}
	for n := range uint64(100) {
		next := map[subject]store.Change{}
		for _, c := range (worldtest.Wild{World: worldtest.New(9, n)}).Set(func(c store.Change) (store.Change, error) { return c, nil }) {
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
		if diff := cmp.Diff(cold.dump(t), warm.dump(t)); diff != "" {
			t.Fatalf("world %d (cold -, incremental +):\n%s", n, diff)
		}
	}
}
