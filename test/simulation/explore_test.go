package simulation

import (
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var explore = flag.Duration("explore", 5*time.Second, "for how long to try all interleavings of the small world")

func TestAllInterleavings(t *testing.T) {
	t.Parallel()
	frontier := NewFrontier()
	deadline := time.Now().Add(*explore)
	var found atomic.Int64
	t.Run("workers", func(t *testing.T) {
		for w := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for found.Load() < *failures {
					actions, ok := frontier.Take(deadline)
					if !ok {
						return
					}
					var n Node
					synctest.Test(t, func(*testing.T) { n = Try(actions) })
					frontier.Done(n)
					if n.Problem != "" {
						found.Add(1)
						t.Errorf("after %d actions: %s", len(actions), minimal(t, n.Result))
					}
				}
			})
		}
	})
	t.Logf("all beginnings of up to %d actions; tried by length: %v, %d led to known states", frontier.Depth(), frontier.Tried, frontier.Same)
}
