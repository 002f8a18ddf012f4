package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// reported are the tests of a stage that have a row each, so that those which have passed need not run again, and how they print figures.
var reported = map[string]struct{ tests, figures *regexp.Regexp }{
	"faults": {regexp.MustCompile(`^Test[^/]*$`), regexp.MustCompile(`case_test\.go:\d+: case [^:]+: (.*)`)},
	"simulation": {
		regexp.MustCompile(`^Test(AllInterleavings|Seeds/from_\d+)$`),
		regexp.MustCompile(`\.go:\d+: (\d+ of \d+ seeds in .*|all beginnings .*)`),
	},
}

// caseTableHead is what these rows are below.
const caseTableHead = "\n| case | result | commit | day | minutes | figures |\n|---|---|---|---|---|---|\n"

// cases are the rows of the tests that ended, by their names. hack/nightly.sh reads their names, results and commits.
func (s stage) cases(commit, day string) map[string]string {
	rows := map[string]string{}
	expressions, ok := reported[s.name]
	if !ok {
		return rows
	}
	for _, suite := range s.tests {
		for _, key := range suite.results.order {
			// Of one that failed and whose second run was interrupted, it is the first that counts.
			ended := slices.DeleteFunc(slices.Clone(suite.results.attempts[key]), func(a *attempt) bool {
				return a.outcome != "pass" && a.outcome != "fail"
			})
			if !expressions.tests.MatchString(key.test) || len(ended) == 0 {
				continue
			}
			a, result := ended[len(ended)-1], "passed"
			switch {
			case a.outcome == "fail":
				result = "FAILED"
			case len(ended) > 1:
				result = "passed, FLAKY"
			}
			var figures []string
			for _, line := range a.lines {
				if found := expressions.figures.FindStringSubmatch(line); found != nil {
					figures = append(figures, found[1])
				}
			}
			name := strings.TrimPrefix(key.test, "Test")
			rows[name] = fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n",
				name, result, commit, day, clock(a.took), cell(strings.Join(figures, "; ")))
		}
	}
	return rows
}

// caseTable has a row for each of these tests: that of its last run, in this section or an earlier one.
func caseTable(earlier string, rows map[string]string) string {
	if _, table, found := strings.Cut(earlier, caseTableHead); found {
		for row := range strings.Lines(table) {
			name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
			rows[name] = cmp.Or(rows[name], row)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(caseTableHead)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[name])
	}
	return b.String()
}
