package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// reportLines is about how many lines all failures together may take, so that the end of a log shows them all.
	reportLines = 36
	// flakyLines is how much is shown of the first failure of a test that passed when it was run once more.
	flakyLines = 4
	// stageLines is how much is shown at least of the log of a stage, whose last lines say less than those before.
	stageLines = 8
)

// makeError is what make adds to the error of a command.
var makeError = regexp.MustCompile(`^make(\[\d+\])?: \*\*\*`)

// slowCase is a row in the table of the fault cases with a time above its limit.
var slowCase = regexp.MustCompile(`^case (\S+) .*\(SLOW: `)

// slowFigure is one of its figures that is.
var slowFigure = regexp.MustCompile(`[^,:]*\(SLOW: [^)]*\)`)

// failure is something that failed, with what is known about it.
type failure struct {
	name    string
	reason  func(n int) []string
	command string
	// onCluster is whether the command needs the test cluster.
	onCluster bool
}

// summary is the report of a run.
type summary struct {
	stages                  []stage
	failures, flaky         []failure
	slow                    []string
	passed, failed, skipped int
}

func summarize(stages []stage) summary {
	s := summary{stages: stages}
	for _, stage := range stages {
		failures, tests := len(s.failures), s.passed+s.failed+s.skipped
		for _, line := range stage.log {
			if found := slowCase.FindStringSubmatch(line); found != nil {
				for _, figure := range slowFigure.FindAllString(line, -1) {
					s.slow = append(s.slow, fmt.Sprintf("case %s: %s", found[1], strings.TrimSpace(figure)))
				}
			}
		}
		explained := map[string]bool{}
		for _, suite := range stage.tests {
			before := len(s.failures)
			s.add(stage, suite)
			explained[suite.name] = len(s.failures) > before
		}
		for _, p := range stage.parts {
			if !explained[p.name] {
				s.fail(fmt.Sprintf("%s: %s (exit code %d)", stage.name, p.name, p.status), p.log, "make "+p.name)
			}
		}
		// A stage that fails without a failing test is a failure itself, and so is one that ran no test of those it has.
		switch {
		case len(s.failures) > failures:
		case stage.status != 0:
			s.fail(fmt.Sprintf("%s (exit code %d)", stage.name, stage.status), stage.log, stage.command)
		case len(stage.tests) > 0 && s.passed+s.failed+s.skipped == tests:
			s.fail(stage.name+" (no test ran)", stage.log, stage.command)
		}
	}
	return s
}

// fail adds the failure of a whole stage or a part of it, which the end of its log explains.
func (s *summary) fail(name string, log []string, command string) {
	s.failed++
	log = slices.DeleteFunc(slices.Clone(log), makeError.MatchString)
	s.failures = append(s.failures, failure{
		name:    name,
		reason:  func(n int) []string { return lastOf(log, max(n, stageLines)) },
		command: command,
	})
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
			reason:  func(n int) []string { return r.attempts[key][0].reason(n) },
			command: again(stage, suite.name, key),
		})
	}
	for _, key := range r.failures() {
		if r.current(key).outcome != "fail" || key.test == "" {
			s.failed++ // it is not among the tests that ended
		}
		s.failures = append(s.failures, failure{
			name:    key.String(),
			reason:  func(n int) []string { return r.reason(key, n) },
			command: again(stage, suite.name, key), onCluster: clusterSuites[suite.name] != "",
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
	for _, line := range s.slow {
		fmt.Fprintln(&b, line)
	}
	for _, f := range s.flaky {
		f.print(&b, "FLAKY", flakyLines)
	}
	if s.needsCluster() {
		fmt.Fprintf(&b, "the commands below for tests of the cluster need one: %s\n", clusterCommand)
	}
	// Each failure has a line for its name and one for its command.
	lines := max(3, reportLines/max(1, len(s.failures))-2)
	for _, f := range s.failures {
		f.print(&b, "FAIL", lines)
	}
	fmt.Fprintf(&b, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return b.String()
}

func (s summary) needsCluster() bool {
	return slices.ContainsFunc(s.failures, func(f failure) bool { return f.onCluster })
}

func (f failure) print(b *strings.Builder, word string, n int) {
	fmt.Fprintf(b, "%s %s\n", word, f.name)
	lines := f.reason(min(n, 12))
	if len(lines) == 0 {
		lines = []string{"nothing was printed that says why: it exited or was killed"}
	}
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
	fmt.Fprintf(b, "  again: %s\n", f.command)
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
