//go:build fault

package fault

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// pairSeed chooses which things go in pairs.
var pairSeed = flag.Uint64("seed", 1, "seed of what is removed in pairs")

const (
	// awayFor is longer than every timer of Envoy.
	awayFor = 85 * time.Second
	// backLimit is how soon what is back must serve, and newProxyLimit how soon it must where a proxy has to start for it.
	backLimit     = 5 * time.Second
	newProxyLimit = 10 * time.Second
	// askPause is between two requests for the same thing.
	askPause = 300 * time.Millisecond
)

// TestCase54RemovedAndRestored removes everything that can be removed, alone and in random pairs, each on a Gateway of its own, and
// brings it back after more time than any timer of Envoy takes. It serves again soon, and from then on; nothing else notices.
//
//nolint:paralleltest // it can run beside a case that restarts the controllers
func TestCase54RemovedAndRestored(t *testing.T) { runIdleCase(t) }

func removedAndRestored(t *testing.T) {
	c := begin(t, "54", "everything that can be removed comes back")
	w := newCatchAllFixture(t)
	w.removeRoutesAtEnd(t)
	bystander := w.catchAllGateway(t, "bystander")
	w.Route(t, "bystander", "bystander", steadyHost, serviceName)
	w.waitHost(t, bystander, steadyHost)
	beside := askAll(t, bystander, 20, steadyHost, anyHost)

	all := &returns{hold: span(5*time.Minute, 45*time.Second)}
	for i, batch := range batches(rand.New(rand.NewPCG(*pairSeed, 0))) { //nolint:gosec // it must be repeatable
		parts := map[string]func(*testing.T){}
		for j, chosen := range batch {
			name := fmt.Sprintf("away-%d-%d", i, j)
			parts[describe(chosen)] = func(t *testing.T) { w.goAndReturn(t, all, newScenario(w, name), chosen) }
		}
		runConcurrently(t, parts)
	}
	c.note("seed %d", *pairSeed)
	c.note("%d things on %d Gateways away for %s", all.things, all.scenarios, awayFor)
	c.took(all.kept.took, "slowest "+all.kept.name+", back after", backLimit)
	c.took(all.started.took, "slowest with a new proxy "+all.started.name+", back after", newProxyLimit)
	c.answers("what came back", all.after)
	c.answers("what stayed beside it", all.beside)
	c.answers("bystander", beside.Stop())
}

// batches says what is removed at the same time, each group on a Gateway of its own. With SHORT=1 there is one batch: the first six are
// removed alone, the rest in pairs. At full length everything is removed alone and in pairs. No batch has more than 13 Gateways.
func batches(random *rand.Rand) [][][]removable {
	alone := func(list []removable) [][]removable {
		var groups [][]removable
		for _, r := range list {
			groups = append(groups, []removable{r})
		}
		return groups
	}
	if testing.Short() {
		return [][][]removable{append(alone(removables[:6]), pairs(random, removables[6:])...)}
	}
	return [][][]removable{alone(removables[:13]), append(alone(removables[13:]), pairs(random, removables)...)}
}

// pairs puts everything into random pairs. One is left alone when the number is odd.
func pairs(random *rand.Rand, list []removable) [][]removable {
	var groups [][]removable
	order := random.Perm(len(list))
	for i := 0; i < len(order); i += 2 {
		group := []removable{list[order[i]]}
		if i+1 < len(order) {
			group = append(group, list[order[i+1]])
		}
		groups = append(groups, group)
	}
	return groups
}

func describe(chosen []removable) string {
	var names []string
	for _, r := range chosen {
		names = append(names, r.name)
	}
	return strings.Join(names, " and ")
}

// returns collects what was measured.
type returns struct {
	hold time.Duration

	mu                sync.Mutex
	scenarios, things int
	// kept is for Gateways whose proxies stayed, and started for those that got new ones.
	kept, started slowest
	after, beside load.Result
}

// slowest is what took the longest to serve again.
type slowest struct {
	name string
	took time.Duration
}

func (r *returns) back(name string, took time.Duration, newProxy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.things++
	of := &r.kept
	if newProxy {
		of = &r.started
	}
	if took > of.took {
		*of = slowest{name, took}
	}
}

func (r *returns) count(into *load.Result, name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	into.Sent++
	if err == nil {
		return
	}
	if into.Failures == nil {
		into.Failures = map[string]int{}
	}
	into.Failures[name+": "+err.Error()]++
}

// goAndReturn removes things of a Gateway, brings them back, and asks for them.
func (w *fixture) goAndReturn(t *testing.T, all *returns, s *scenario, chosen []removable) {
	t.Helper()
	for _, r := range chosen {
		s.parts = append(s.parts, r.add(t, s))
	}
	s.start(t)
	defer s.stop(t)
	for _, p := range s.parts {
		live.Eventually(t, time.Minute, 100*time.Millisecond, p.ask)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer func() { cancel(); asking.Wait() }()
	for _, p := range s.parts {
		if p.stays != nil && !s.whole() {
			asking.Go(func() { repeat(ctx, func() { all.count(&all.beside, p.name, p.stays(context.WithoutCancel(ctx))) }) })
		}
	}
	time.Sleep(5 * time.Second)
	for _, p := range s.parts {
		if err := p.remove(t.Context()); err != nil {
			t.Fatalf("remove %s: %v", p.name, err)
		}
	}
	time.Sleep(awayFor)
	s.bringBack(t, all)
	for _, p := range s.parts {
		asking.Go(func() { repeat(ctx, func() { all.count(&all.after, p.name, p.ask(context.WithoutCancel(ctx))) }) })
	}
	time.Sleep(all.hold)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.scenarios++
}

// bringBack brings everything back at once, and measures how long each part takes to serve.
func (s *scenario) bringBack(t *testing.T, all *returns) {
	t.Helper()
	calm.RLock()
	defer calm.RUnlock()
	if !s.whole() {
		// Controllers may just have been replaced.
		s.w.waitConnected(t, s.w.OneProxy(t, s.name))
	}
	var waiting sync.WaitGroup
	for _, p := range s.parts {
		waiting.Go(func() {
			if err := p.restore(t.Context()); err != nil {
				t.Errorf("bring back %s: %v", p.name, err)
				return
			}
			start := clock.Now()
			for err := askOnce(t.Context(), p); err != nil; err = askOnce(t.Context(), p) {
				if clock.Since(start) > time.Minute {
					t.Errorf("%s is back and not served: %v", p.name, err)
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			took := clock.Since(start)
			t.Logf("%s serves %s after it is back", p.name, rounded(took))
			all.back(p.name, took, s.whole())
		})
	}
	waiting.Wait()
}

// askOnce asks, and gives up before TCP sends a second SYN: the packet that is dropped while there is no listener would cost whole seconds.
func askOnce(ctx context.Context, p *part) error {
	ctx, cancel := clock.WithTimeout(ctx, time.Second/2)
	defer cancel()
	return p.ask(ctx)
}

// repeat does something again and again until the context is over.
func repeat(ctx context.Context, do func()) {
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-time.After(askPause):
		}
	}
}
