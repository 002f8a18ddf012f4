//go:build fuzz

package fuzz

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/worldtest"
	"github.com/gatewright/gatewright/test/admission"
)

var (
	seed     = flag.Uint64("seed", 1, "where the worlds come from; the same seed makes the same worlds, but for keys")
	first    = flag.Uint64("first", 0, "the number of the first world")
	sets     = flag.Uint64("sets", 0, "how many worlds to try; 0 is as many as there is time for")
	fuzztime = flag.Duration("fuzztime", 0, "how long to try; 0 is as long as it takes")
	all      = flag.Bool("all", false, "go on after a failure, and list all of them instead of the smallest set of objects for the first")
)

// TestEnvoyTakesEverything makes worlds, one after the other, and has one live Envoy go from each to the next. Half of them are what an API
// server with today's definitions lets through, the others what one with older definitions does, which check less.
func TestEnvoyTakesEverything(t *testing.T) {
	t.Parallel()
	worlds := make(chan (<-chan []store.Change), runtime.NumCPU())
	done := make(chan struct{})
	defer close(done)
	go makeWorlds(admissions(t), worlds, done)

	start := time.Now()
	l := newLab(t, worldtest.WildGateway)
	defer func() { l.close() }()
	objects, failures := 0, map[string][]uint64{}
	n := *first
	for ; (*sets == 0 || n < *first+*sets) && (*fuzztime == 0 || time.Since(start) < *fuzztime); n++ {
		set := <-<-worlds
		objects += len(set)
		err := l.apply(set)
		switch {
		case err != nil && *all:
			message, _, _ := strings.Cut(err.Error(), "\n")
			failures[message] = append(failures[message], n)
			l.close()
			l = newLab(t, worldtest.WildGateway)
		case err != nil:
			smallest, err := shrink(t, set, err)
			t.Fatalf("world %d of seed %d (SEED=%d FIRST=%d SETS=1): %v\n\nthe smallest set of objects that does it:\n%s", n, *seed, *seed, n, err, text(smallest))
		case n%1000 == 999:
			t.Logf("%d worlds in %s", n+1-*first, time.Since(start).Round(time.Second))
		}
	}
	for message, worlds := range failures {
		t.Errorf("worlds %v: %s", worlds, message)
	}
	t.Logf("Envoy took %d worlds with %d objects in %s; it was sent %v", n-*first, objects, time.Since(start).Round(time.Millisecond), l.proxies.sent("resources_sent_total"))
}

// makeWorlds makes worlds in advance, several at a time, and hands them out in order.
func makeWorlds(admissions []admission.Rules, worlds chan<- (<-chan []store.Change), done <-chan struct{}) {
	for n := *first; ; n++ {
		world := make(chan []store.Change, 1)
		select {
		case worlds <- world:
			go func() {
				world <- worldtest.Wild{World: worldtest.New(*seed, n)}.Set(admissions[n%uint64(len(admissions))].Admit)
			}()
		case <-done:
			return
		}
	}
}

func admissions(t *testing.T) []admission.Rules {
	t.Helper()
	var list []admission.Rules
	for _, module := range []string{"GATEWAY_API", "GATEWAY_API_OLD"} {
		a, err := admission.Read(filepath.Join(os.Getenv(module), "config", "crd", "experimental"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}
