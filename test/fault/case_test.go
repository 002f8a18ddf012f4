//go:build fault

package fault

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

func TestMain(m *testing.M) {
	code := live.Run(m)
	if len(summary.rows) == 0 && flag.Lookup("test.skip").Value.String() == "" {
		fmt.Println("there is no such case")
		os.Exit(1)
	}
	printSummary()
	os.Exit(code)
}

// faultCase is one case under way: what is measured, with the limit beside it.
type faultCase struct {
	t       *testing.T
	name    string
	fault   string
	started clock.Instant

	mu      sync.Mutex
	figures []string
}

const (
	// worthSaying is the share of time without cores that is told beside the figures.
	worthSaying = 0.02
	// mostStolen is the share up to which a figure says something about Gatewright: what waits for the cores that are left waits for longer
	// than they were stolen.
	mostStolen = 0.25
	// tolerance is how long after its limit a time may end at least before the case fails: other programs use the cores, too. A time above
	// its limit is marked among the figures.
	tolerance = 5 * time.Second
)

// begin starts a case of docs/faults.md. Its figures become one line in its log and in the table at the end.
func begin(t *testing.T, name, fault string) *faultCase {
	t.Helper()
	c := &faultCase{t: t, name: name, fault: fault, started: clock.Now()}
	t.Cleanup(c.end)
	return c
}

// span is how long a fault lasts: as long as it should by `make fault`, shorter with SHORT=1.
func span(full, short time.Duration) time.Duration {
	if testing.Short() {
		return short
	}
	return full
}

// amount is how much of something there is: all of it by `make fault`, less with SHORT=1.
func amount(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// note adds a figure that has no limit.
func (c *faultCase) note(format string, arguments ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.figures = append(c.figures, fmt.Sprintf(format, arguments...))
}

// none adds a figure that must be zero.
func (c *faultCase) none(got int, what string) {
	c.t.Helper()
	c.note("%s %s", grouped(got), what)
	if got != 0 {
		c.t.Errorf("case %s: %d %s, want none", c.name, got, what)
	}
}

// exactly adds a figure that must be as wanted.
func (c *faultCase) exactly(got int, what string, want int) {
	c.t.Helper()
	c.note("%s of %s %s", grouped(got), grouped(want), what)
	if got != want {
		c.t.Errorf("case %s: %d %s, want %d", c.name, got, what, want)
	}
}

// took adds a time that has a limit in seconds: the case fails when it takes twice as long, and at least the tolerance longer.
func (c *faultCase) took(got time.Duration, what string, limit time.Duration) {
	c.t.Helper()
	if got < limit {
		c.note("%s %s", what, rounded(got))
		return
	}
	c.note("%s %s (SLOW: the limit is %s)", what, rounded(got), limit)
	if latest := limit + max(limit, tolerance); got >= latest {
		c.exceeded("%s took %s; the limit is %s, and %s on a busy machine", what, got, limit, latest)
	}
}

// tookOf adds a time whose limit is a measurement of the same run, which was as busy: it is exact.
func (c *faultCase) tookOf(got time.Duration, what string, limit time.Duration) {
	c.t.Helper()
	c.note("%s %s", what, rounded(got))
	if got >= limit {
		c.exceeded("%s took %s, the limit is %s", what, got, limit)
	}
}

// exceeded fails the case because of a figure, unless the machine was not there to measure it.
func (c *faultCase) exceeded(format string, arguments ...any) {
	c.t.Helper()
	message := fmt.Sprintf(format, arguments...)
	if clock.Share(c.started) > mostStolen {
		c.note("not measured: %s", message)
		return
	}
	c.t.Errorf("case %s: %s", c.name, message)
}

// load adds what became of requests, none of which may fail.
func (c *faultCase) load(result load.Result) {
	c.t.Helper()
	c.note("%s requests", grouped(result.Sent))
	c.none(result.Failed(), "failed")
	c.note("slowest %s", rounded(result.Slowest))
	if result.Failed() > 0 || result.Sent == 0 {
		c.t.Errorf("case %s: want requests and no failure: %s", c.name, result)
	}
}

// answers adds what became of requests for something, none of which may fail.
func (c *faultCase) answers(what string, result load.Result) {
	c.t.Helper()
	c.note("%s: %s of %s requests failed", what, grouped(result.Failed()), grouped(result.Sent))
	if result.Failed() > 0 || result.Sent == 0 {
		c.t.Errorf("case %s: %s: want requests and no failure: %s", c.name, what, result)
	}
}

func (c *faultCase) line() string { return strings.Join(c.figures, ", ") }

func (c *faultCase) end() {
	result := "passed"
	if c.t.Failed() {
		result = "FAILED"
	}
	if share := clock.Share(c.started); share >= worthSaying {
		c.note("the host kept the cores for %.0f%% of the time", 100*share)
	}
	c.t.Logf("case %s: %s", c.name, c.line())
	summary.Lock()
	defer summary.Unlock()
	summary.rows = append(summary.rows, row{c.name, c.fault, result, c.line(), clock.Wall(c.started)})
}

type row struct {
	name, fault, result, figures string
	took                         time.Duration
}

var summary struct {
	sync.Mutex
	rows []row
}

// printSummary prints a table of all cases that ran.
func printSummary() {
	// Numbers first, in their order.
	slices.SortFunc(summary.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	wide := 0
	for _, r := range summary.rows {
		wide = max(wide, len(r.name))
	}
	fmt.Println()
	for _, r := range summary.rows {
		fmt.Printf("case %-*s  %-7s %5.0fs  %s: %s\n", wide, r.name, r.result, r.took.Seconds(), r.fault, r.figures)
	}
	fmt.Println()
}

// rounded is a time as a person would say it.
func rounded(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// grouped is a number with commas.
func grouped(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
