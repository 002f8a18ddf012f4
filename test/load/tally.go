package load

import (
	"sync"
	"time"
)

// tally counts what became of requests, or of whatever else.
type tally struct {
	started time.Time

	mu     sync.Mutex
	result Result
}

func newTally() *tally {
	return &tally{started: time.Now(), result: Result{Failures: map[string]int{}}}
}

// record counts one; failure says why it failed, and is empty if it did not.
func (t *tally) record(failure string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Sent++
	t.result.Slowest = max(t.result.Slowest, took)
	if failure == "" {
		return
	}
	t.result.Last = time.Since(t.started)
	t.result.LastSent = max(t.result.LastSent, t.result.Last-took)
	if len(t.result.Failures) == 0 {
		t.result.First = t.result.Last
	}
	t.result.Failures[failure]++
}
