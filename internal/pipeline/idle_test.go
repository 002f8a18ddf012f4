package pipeline

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdlenessIsToldWhenItChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []map[string]bool
		i := newIdleness(func(changed map[string]bool) { told = append(told, changed) })
		pass := func() {
			time.Sleep(idlePause + time.Second)
			synctest.Wait()
		}
		i.note("a", false)
		i.note("b", false)
		pass()
		if len(told) != 0 {
			t.Fatalf("told %v of endpoints that are there", told)
		}
		for range 100 {
			i.note("a", true)
			i.note("a", false)
		}
		pass()
		if len(told) != 0 {
			t.Fatalf("told %v of what was over at once", told)
		}
		i.note("a", true)
		pass()
		i.note("a", true)
		pass()
		if len(told) != 1 || !told[0]["a"] {
			t.Fatalf("told %v, want once that a has none", told)
		}
		i.note("a", false)
		pass()
		pass()
		pass()
		if len(told) != 2 || told[1]["a"] {
			t.Fatalf("told %v, want that a has some again", told)
		}
	})
}

func TestWhatComesAndGoesIsToldLessAndLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := 0
		i := newIdleness(func(changed map[string]bool) { told += len(changed) })
		// It has none and some in turn, for long enough each time to be told at first.
		for n := range 600 {
			i.note("a", n%2 == 0)
			time.Sleep(6 * time.Second)
		}
		synctest.Wait()
		if told == 0 || told > 10 {
			t.Errorf("told %d times in an hour", told)
		}
		i.note("a", true)
		time.Sleep(longestIdlePause + 2*idlePause)
		synctest.Wait()
		if _, none := i.told["a"]; !none {
			t.Error("it is not told what has come to stay")
		}
		before := told
		time.Sleep(idleCalm)
		i.note("a", false)
		i.note("b", true)
		time.Sleep(idlePause + time.Second)
		synctest.Wait()
		if told != before+2 {
			t.Errorf("told %d times after a calm, want 2", told-before)
		}
		time.Sleep(2 * idleCalm)
		i.note("c", true)
		time.Sleep(2 * idlePause)
		synctest.Wait()
		if len(i.recent) != 1 || len(i.pending) != 0 {
			t.Errorf("kept %v and %v", i.recent, i.pending)
		}
	})
}

func TestWhatStaysForLongIsToldEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		i := newIdleness(func(map[string]bool) { at = append(at, time.Since(start).Round(time.Second)) })
		for n := range 9 {
			start = time.Now()
			i.note("a", n%2 == 0)
			time.Sleep(7 * time.Minute)
			synctest.Wait()
		}
		for n, pause := 0, idlePause; n < 9; n++ {
			if n >= len(at) || at[n] < pause || at[n] > pause+idlePause {
				t.Fatalf("told after %v, want the %dth after %s", at, n+1, pause)
			}
			pause = min(2*pause, longestIdlePause)
		}
	})
}
