package main

import (
	"fmt"
	"strings"
	"time"
)

const (
	// reportLines is about how many lines all failures together may take, so that the end of a log shows them all.
	reportLines = 36
	// flakyLines is how much is shown of the first failure of a test that passed when it was run once more.
	flakyLines = 4
)

// failure is something that failed, with what is known about it.
type failure struct {
	name    string
	reason  func(n int) []string
	command string
}

// summary is the report of a run.
type summary struct {
	stages                  []stage
	failures, flaky         []failure
	passed, failed, skipped int
}

func summarize(stages []stage) summary {
	s := summary{stages: stages}
	for _, stage := range stages {
		before := len(s.failures)
		for _, suite := range stage.tests {
			s.add(stage, suite)
		}
		// A stage that fails without a failing test is a failure itself.
		if stage.status != 0 && len(s.failures) == before {
			s.failed++
			s.failures = append(s.failures, failure{
				name:    fmt.Sprintf("%s (exit code %d)", stage.name, stage.status),
				reason:  func(n int) []string { return lastOf(stage.log, n) },
				command: stage.command,
			})
		}
	}
	return s
}

func (s *summary) add(stage stage, suite suite) {
	r := suite.results
	passed, failed, skipped := r.count()
	s.passed += passed
	s.failed += failed
	s.skipped += skipped
	for _, key := range r.flaky() {
		s.flaky = append(s.flaky, failure{
			name:    key.String(),
			reason:  func(n int) []string { return r.reason(r.attempts[key][0], n) },
			command: again(stage, suite.name, key),
		})
	}
	for _, key := range r.failures() {
		if key.test == "" {
			s.failed++
		}
		s.failures = append(s.failures, failure{
			name:    key.String(),
			reason:  func(n int) []string { return r.reason(r.current(key), n) },
			command: again(stage, suite.name, key),
		})
	}
}

func (key id) String() string {
	if key.test == "" {
		return key.pkg
	}
	return key.pkg + " " + key.test
}

// String returns the report. It ends with the failures and the sum, because the end of a log is what is read first.
func (s summary) String() string {
	var b strings.Builder
	var total time.Duration
	fmt.Fprintln(&b, "\n===== times")
	for _, stage := range s.stages {
		outcome := "ok"
		if stage.status != 0 {
			outcome = "FAILED"
		}
		fmt.Fprintf(&b, "%-44s %7s  %s\n", stage.name, clock(stage.duration), outcome)
		total += stage.duration
	}
	fmt.Fprintf(&b, "%-44s %7s\n\n", "total", clock(total))
	for _, f := range s.flaky {
		f.print(&b, "FLAKY", flakyLines)
	}
	// Each failure has a line for its name and one for its command.
	lines := max(3, reportLines/max(1, len(s.failures))-2)
	for _, f := range s.failures {
		f.print(&b, "FAIL", lines)
	}
	fmt.Fprintf(&b, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return b.String()
}

func (f failure) print(b *strings.Builder, word string, n int) {
	fmt.Fprintf(b, "%s %s\n", word, f.name)
	for _, line := range f.reason(min(n, 12)) {
		fmt.Fprintf(b, "  %s\n", line)
	}
	fmt.Fprintf(b, "  again: %s\n", f.command)
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
