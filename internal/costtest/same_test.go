package costtest_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/costtest"
)

// recorder is a test that fails without failing this one.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestExpectSame(t *testing.T) {
	t.Parallel()
	sum := 0
	work := func(steps int) func() {
		return func() {
			for i := range steps {
				sum += i
			}
		}
	}
	for _, c := range []struct {
		name   string
		many   int
		failed bool
	}{
		{"the same", 100, false}, {"a walk through all", 20_000, true},
	} {
		r := &recorder{TB: t}
		costtest.ExpectSame(r, work(100), work(c.many))
		if r.failed != c.failed {
			t.Errorf("%s: failed: %t", c.name, r.failed)
		}
	}
}
