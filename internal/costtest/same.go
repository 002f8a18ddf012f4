package costtest

import (
	"math"
	"testing"
	"time"
)

const (
	// rounds is how often each operation is measured, and repeats how often it is done in a round.
	rounds, repeats = 50, 100
	// factor is how much more an operation may cost, so that other work on the machine does not count.
	factor = 20
)

// ExpectSame reports an error if an operation among many costs much more than among few. It compares the shortest of several rounds,
// which other work on the machine delays least.
func ExpectSame(t testing.TB, few, many func()) {
	t.Helper()
	amongFew, amongMany := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range rounds {
		amongFew, amongMany = min(amongFew, measure(few)), min(amongMany, measure(many))
	}
	if amongMany > factor*amongFew {
		t.Errorf("with many it takes %s, with few %s", amongMany, amongFew)
	}
}

func measure(work func()) time.Duration {
	began := time.Now()
	for range repeats {
		work()
	}
	return time.Since(began)
}
