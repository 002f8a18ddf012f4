package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
)

func endpointsNamed(name string) ir.Endpoints { return ir.Endpoints{Object: ir.Name{Name: name}} }

func TestIdlenessIsReportedWhenItChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reported []map[ir.Endpoints]bool
		i := newIdleness(func(changed map[ir.Endpoints]bool) { reported = append(reported, changed) })
		pass := func() {
			time.Sleep(idlePause + time.Second)
			synctest.Wait()
		}
		i.note(endpointsNamed("a"), false)
		i.note(endpointsNamed("b"), false)
		pass()
		if len(reported) != 0 {
			t.Fatalf("reported %v of endpoints that are there", reported)
		}
		for range 100 {
			i.note(endpointsNamed("a"), true)
			i.note(endpointsNamed("a"), false)
		}
		pass()
		if len(reported) != 0 {
			t.Fatalf("reported %v of what was over at once", reported)
		}
		i.note(endpointsNamed("a"), true)
		pass()
		i.note(endpointsNamed("a"), true)
		pass()
		if len(reported) != 1 || !reported[0][endpointsNamed("a")] {
			t.Fatalf("reported %v, want once that a has none", reported)
		}
		i.note(endpointsNamed("a"), false)
		pass()
		pass()
		pass()
		if len(reported) != 2 || reported[1][endpointsNamed("a")] {
			t.Fatalf("reported %v, want that a has some again", reported)
		}
	})
}

func TestWhatComesAndGoesIsReportedLessAndLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reported := 0
		i := newIdleness(func(changed map[ir.Endpoints]bool) { reported += len(changed) })
		// It has none and some in turn, for long enough each time to be reported at first.
		for n := range 600 {
			i.note(endpointsNamed("a"), n%2 == 0)
			time.Sleep(6 * time.Second)
		}
		synctest.Wait()
		if reported == 0 || reported > 10 {
			t.Errorf("reported %d times in an hour", reported)
		}
		i.note(endpointsNamed("a"), true)
		time.Sleep(longestIdlePause + 2*idlePause)
		synctest.Wait()
		if _, none := i.reported[endpointsNamed("a")]; !none {
			t.Error("it is not reported what has come to stay")
		}
		before := reported
		time.Sleep(idleReset)
		i.note(endpointsNamed("a"), false)
		i.note(endpointsNamed("b"), true)
		time.Sleep(idlePause + time.Second)
		synctest.Wait()
		if reported != before+2 {
			t.Errorf("reported %d times after the reset, want 2", reported-before)
		}
		time.Sleep(2 * idleReset)
		i.note(endpointsNamed("c"), true)
		time.Sleep(2 * idlePause)
		synctest.Wait()
		if len(i.backoff) != 1 || len(i.pending) != 0 {
			t.Errorf("kept %v and %v", i.backoff, i.pending)
		}
	})
}

func TestWhatStaysForLongIsReportedEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		i := newIdleness(func(map[ir.Endpoints]bool) { at = append(at, time.Since(start).Round(time.Second)) })
		for n := range 9 {
			start = time.Now()
			i.note(endpointsNamed("a"), n%2 == 0)
			time.Sleep(7 * time.Minute)
			synctest.Wait()
		}
		for n, pause := 0, idlePause; n < 9; n++ {
			if n >= len(at) || at[n] < pause || at[n] > pause+idlePause {
				t.Fatalf("reported after %v, want the %dth after %s", at, n+1, pause)
			}
			pause = min(2*pause, longestIdlePause)
		}
	})
}
