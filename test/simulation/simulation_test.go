package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
)

var (
	seeds    = flag.Uint64("seeds", 50, "how many seeds to run")
	first    = flag.Uint64("first", 0, "the first seed")
	steps    = flag.Int("steps", 150, "how many actions a seed has")
	nacks    = flag.Bool("nacks", true, "whether users write what proxies reject")
	failures = flag.Int64("failures", 1, "how many violations to explain before giving up")
	ignore   = flag.String("ignore", "", "letters of what need not hold, to look behind what is known")
	trace    = flag.String("perform", "", "a file with a world and actions, as a failure prints them, to perform")
	verbose  = flag.Bool("log", false, "print what happened in the minimised trace")
)

// bubble runs a simulation in fake time.
func bubble(t *testing.T, run func() Result) (r Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = run() })
	return r
}

func options() Options { return Options{Steps: *steps, NACKs: *nacks, Ignore: *ignore} }

// part is how many seeds are one test, so that what has passed of a long run is known although it was interrupted.
const part = 5000

// TestSeeds runs its seeds in parts, one after the other, each on all processors, and stops behind the part that found enough violations.
func TestSeeds(t *testing.T) {
	t.Parallel()
	fuzzobjects.KeyPairs()
	var found atomic.Int64
	for from, end := *first, *first+*seeds; from < end && found.Load() < *failures; from += part {
		t.Run(fmt.Sprintf("from_%06d", from), func(t *testing.T) { runSeeds(t, from, min(from+part, end), &found) })
	}
}

// runSeeds runs the seeds of a range, and counts the violations that it finds.
func runSeeds(t *testing.T, from, end uint64, found *atomic.Int64) {
	t.Helper()
	var next, ended atomic.Uint64
	next.Store(from)
	start := time.Now()
	for w := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			for found.Load() < *failures {
				seed := next.Add(1) - 1
				if seed >= end {
					return
				}
				if r := bubble(t, func() Result { return Random(seed, options()) }); r.Problem != "" {
					found.Add(1)
					explain(t, seed, r)
				}
				ended.Add(1)
			}
		})
	}
	t.Cleanup(func() { t.Logf("%d of %d seeds in %s", ended.Load(), end-from, time.Since(start).Round(time.Second)) })
}

// explain prints a violation as short as it gets, and how to see it again.
func explain(t *testing.T, seed uint64, r Result) {
	t.Helper()
	t.Logf("seed %d: %s (%d actions); minimising", seed, r.Problem, len(r.Actions))
	t.Errorf("seed %d: %s\nagain: go test ./simulation -run TestSeeds -first=%d -seeds=1 -steps=%d -nacks=%t -ignore=%q -log\n"+
		"or write the lines from \"world\" on into a file: go test ./simulation -run TestTrace -v -perform=FILE",
		seed, minimal(t, r), seed, *steps, *nacks, *ignore)
}

// minimal is as short a trace as leads to the same violation.
func minimal(t *testing.T, r Result) Result {
	t.Helper()
	short := Minimise(r, func(c Config, actions []Action) Result {
		return bubble(t, func() Result { return Trace(c, actions) })
	})
	if *verbose {
		t.Log("\n" + strings.Join(short.Log, "\n"))
	}
	return short
}

// TestTrace performs the traces of bugs that were found, or the one that is given.
func TestTrace(t *testing.T) {
	t.Parallel()
	files := []string{*trace}
	if *trace == "" {
		files, _ = filepath.Glob("testdata/traces/*")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, actions, err := ParseTrace(string(text))
			if err != nil {
				t.Fatal(err)
			}
			r := bubble(t, func() Result { return Trace(c, actions) })
			if r.Problem != "" {
				t.Error(strings.Join(r.Log, "\n"), "\n", r)
			}
		})
	}
}

func TestTheSameSeedGivesTheSameTrace(t *testing.T) {
	t.Parallel()
	fuzzobjects.KeyPairs()
	for seed := range uint64(60) {
		a := bubble(t, func() Result { return Random(seed, options()) })
		b := bubble(t, func() Result { return Random(seed, options()) })
		if !slices.Equal(a.Log, b.Log) {
			for i := range min(len(a.Log), len(b.Log)) {
				if a.Log[i] != b.Log[i] {
					t.Fatalf("seed %d, line %d: %q, then %q after\n%s", seed, i, a.Log[i], b.Log[i], strings.Join(a.Log[max(0, i-10):i], "\n"))
				}
			}
			t.Fatalf("seed %d: %d lines, then %d", seed, len(a.Log), len(b.Log))
		}
	}
}
