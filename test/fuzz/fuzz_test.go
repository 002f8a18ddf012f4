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

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/test/admission"
)

var (
	seed     = flag.Uint64("seed", 1, "where the sets come from; the same seed makes the same sets, but for keys")
	first    = flag.Uint64("first", 0, "the number of the first set")
	sets     = flag.Uint64("sets", 0, "how many sets to try; 0 is as many as there is time for")
	fuzztime = flag.Duration("fuzztime", 0, "how long to try; 0 is as long as it takes")
	all      = flag.Bool("all", false, "go on after a failure, and list all of them instead of the smallest set of objects for the first")
)

// TestEnvoyTakesEverything makes sets of objects, one after the other, and has one live Envoy go from each to the next. Half of them are
// what an API server with today's definitions lets through, the others what one with older definitions does, which check less.
func TestEnvoyTakesEverything(t *testing.T) {
	t.Parallel()
	generated := make(chan (<-chan []store.Change), runtime.NumCPU())
	done := make(chan struct{})
	defer close(done)
	go makeSets(admissions(t), generated, done)

	start := time.Now()
	l := newLab(t, fuzzobjects.HostileGateway)
	defer func() { l.close() }()
	objects, failures := 0, map[string][]uint64{}
	n := *first
	for ; (*sets == 0 || n < *first+*sets) && (*fuzztime == 0 || time.Since(start) < *fuzztime); n++ {
		set := <-<-generated
		objects += len(set)
		err := l.apply(set)
		switch {
		case err != nil && *all:
			message, _, _ := strings.Cut(err.Error(), "\n")
			failures[message] = append(failures[message], n)
			l.close()
			l = newLab(t, fuzzobjects.HostileGateway)
		case err != nil:
			smallest, err := shrink(t, set, err)
			t.Fatalf(
				"set %d of seed %d (SEED=%d FIRST=%d SETS=1): %v\n\nthe smallest set of objects that does it:\n%s", n, *seed, *seed, n, err,
				text(smallest),
			)
		case n%1000 == 999:
			t.Logf("%d sets in %s", n+1-*first, time.Since(start).Round(time.Second))
		}
	}
	for message, numbers := range failures {
		t.Errorf("sets %v: %s", numbers, message)
	}
	t.Logf(
		"Envoy took %d sets with %d objects in %s; it was sent %v", n-*first, objects, time.Since(start).Round(time.Millisecond),
		l.proxies.sent("resources_sent_total"),
	)
}

// makeSets makes sets in advance, several at a time, and hands them out in order.
func makeSets(admissions []admission.Rules, generated chan<- (<-chan []store.Change), done <-chan struct{}) {
	for n := *first; ; n++ {
		set := make(chan []store.Change, 1)
		select {
		case generated <- set:
			go func() {
				set <- fuzzobjects.HostileGenerator{Generator: fuzzobjects.New(*seed, n)}.Set(admissions[n%uint64(len(admissions))].Admit)
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
