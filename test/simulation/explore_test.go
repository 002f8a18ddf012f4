package simulation

import (
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var explore = flag.Int("explore", 300, "how many beginnings of traces of the small world to try, the shortest first")

// batch is how many beginnings are handed to the workers at once.
const batch = 256

func TestAllInterleavings(t *testing.T) {
	t.Parallel()
	frontier := NewFrontier()
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
			frontier.Done(n)
		}
	}
	t.Logf("all beginnings of up to %d actions; tried by length: %v, %d led to known states", frontier.Depth(), frontier.Tried, frontier.Same)
}
