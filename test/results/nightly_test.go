package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheNightlyReportHasTheLastRunOfEachStage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	report := filepath.Join(dir, "nightly.md")
	write := func(commit string, s stage) {
		t.Helper()
		if err := writeNightly(report, commit, "2026-01-02", []stage{s}); err != nil {
			t.Fatal(err)
		}
	}
	faults := stage{name: "faults", command: "make fault", log: []string{"case 1  ok  5s  a | b: 0 failed", "else"}}
	write("aaa", faults)
	write("bbb", stage{name: "simulation", command: "make simulate", log: []string{"  explore_test.go:46: all beginnings of up to 4 actions"}})
	faults.status, faults.log = 1, []string{"no cluster"}
	write("ccc", faults)

	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.TrimPrefix(string(content), emptyReport)
	const expected = `
## faults

FAILED: commit ccc, 2026-01-02, ` + "`make fault`" + `, 0:00 minutes; 0 passed, 1 failed, 0 skipped, 0 flaky.

FAIL faults (exit code 1)

` + "```\nno cluster\n```" + `

## simulation

passed: commit bbb, 2026-01-02, ` + "`make simulate`" + `, 0:00 minutes; 0 passed, 0 failed, 0 skipped, 0 flaky.

| figures |
|---|
| all beginnings of up to 4 actions |
`
	if got != expected {
		t.Errorf("the report is\n%s\nnot\n%s", got, expected)
	}
	if s := section(stage{name: "faults", log: []string{"case 1  ok  5s  a | b"}}, "a", "b"); !strings.Contains(s, "\n| 1 ok 5s a \\| b |\n") {
		t.Errorf("the figures are not a row:\n%s", s)
	}
}
