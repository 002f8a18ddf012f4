package simulation

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var explore = flag.Int("explore", 320, "how many beginnings of traces of the small world to try, the shortest first")

// batch is how many beginnings are handed to the workers at once.
const batch = 256

func TestEveryActionLeadsToAnotherState(t *testing.T) {
	t.Parallel()
	try := func(actions []Action) (n Node) {
		synctest.Test(t, func(*testing.T) { n = Try(actions) })
		return n
	}
	beginning := []Action{{Verb: cut, N: 0}, {Verb: connect, N: 0, M: 1}, {Verb: putRoute, N: 0, M: 1}}
	for length := range len(beginning) + 1 {
		before := try(beginning[:length])
		for _, a := range before.Next {
			after := try(append(slices.Clone(beginning[:length]), a))
			if after.Problem != "" || after.Seen == before.Seen {
				t.Errorf("%v, then %s: no participant has seen it. %s", beginning[:length], a, after.Problem)
			}
		}
	}
}

func TestAllInterleavings(t *testing.T) {
	t.Parallel()
	frontier, start := NewFrontier(), time.Now()
	var found atomic.Int64
	for left := *explore; left > 0 && found.Load() < *failures; {
		beginnings := frontier.Take(min(left, batch))
		if len(beginnings) == 0 {
			break
		}
		left -= len(beginnings)
		nodes := make([]Node, len(beginnings))
		t.Run(fmt.Sprint("with ", left, " left"), func(t *testing.T) {
			workers := runtime.GOMAXPROCS(0)
			for w := range workers {
				t.Run(fmt.Sprint(w), func(t *testing.T) {
					t.Parallel()
					for i := w; i < len(beginnings); i += workers {
						synctest.Test(t, func(*testing.T) { nodes[i] = Try(beginnings[i]) })
						if n := nodes[i]; n.Problem != "" && found.Add(1) <= *failures {
							t.Errorf("after %d actions: %s", len(n.Actions), minimal(t, n.Result))
						}
					}
				})
			}
		})
		for _, n := range nodes {
			if err := frontier.Done(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("all beginnings of up to %d actions in %s; tried by length: %v, of these led to known states: %v",
		frontier.Depth(), time.Since(start).Round(time.Second), frontier.Tried, frontier.Same)
}
