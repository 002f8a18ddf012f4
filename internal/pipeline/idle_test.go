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
		if len(told) != 2 || told[1]["a"] {
			t.Fatalf("told %v, want that a has some again", told)
		}
	})
}
