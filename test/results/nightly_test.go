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
	fuzz := stage{name: "fuzz", command: "make fuzz", log: []string{"  fuzz_test.go:9: 10 sets: a | b", "else"}}
	write("aaa", fuzz)
	if content, err := os.ReadFile(report); err != nil || !strings.Contains(string(content), "\n| 10 sets: a \\| b |\n") {
		t.Errorf("the figures are not a row (%v):\n%s", err, content)
	}
	write("bbb", stage{name: "explain", command: "make explain", log: []string{"  explain_test.go:46: 7 requests to an Envoy"}})
	fuzz.status, fuzz.log = 1, []string{"no compiler"}
	write("ccc", fuzz)

	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.TrimPrefix(string(content), emptyReport)
	const expected = `
## fuzz

FAILED: commit ccc, 2026-01-02, 0:00 minutes; 0 passed, 1 failed, 0 skipped, 0 flaky:
` + "`make fuzz`" + `

FAIL fuzz (exit code 1)

` + "```\nno compiler\n```" + `

## explain

passed: commit bbb, 2026-01-02, 0:00 minutes; 0 passed, 0 failed, 0 skipped, 0 flaky:
` + "`make explain`" + `

| figures |
|---|
| 7 requests to an Envoy |
`
	if got != expected {
		t.Errorf("the report is\n%s\nnot\n%s", got, expected)
	}
}

func TestTheNightlyReportHasTheLastRunOfEachCase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	report, events := filepath.Join(dir, "nightly.md"), filepath.Join(dir, "fault.json")
	write := func(commit string, lines ...string) {
		t.Helper()
		if err := os.WriteFile(events, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := readResults(events)
		if err != nil {
			t.Fatal(err)
		}
		s := stage{name: "faults", command: "make fault", tests: []suite{{"fault", r}}}
		if err := writeNightly(report, commit, "2026-01-02", []stage{s}); err != nil {
			t.Fatal(err)
		}
	}
	event := func(action, test, more string) string {
		return `{"Action":"` + action + `","Package":"p","Test":"` + test + `"` + more + `}`
	}
	figures := func(test, text string) string {
		return event("output", test, `,"Output":"    case_test.go:150: case 9: `+text+`\n"`)
	}
	write("aaa",
		event("run", "TestCase02Two", ""), event("run", "TestCase02Two/part", ""), figures("TestCase02Two", "0 of 7 | 8 failed"),
		event("pass", "TestCase02Two/part", ""), event("pass", "TestCase02Two", `,"Elapsed":61.5`),
		event("run", "TestCase01One", ""), event("fail", "TestCase01One", ""),
		event("run", "TestCase03Three", ""), event("skip", "TestCase03Three", ""),
		event("run", "TestStopped", ""))
	write("bbb",
		event("run", "TestCase01One", ""), event("fail", "TestCase01One", ""),
		event("run", "TestCase01One", ""), event("pass", "TestCase01One", ""),
		event("run", "TestCase04Four", ""), event("pass", "TestCase04Four", ""))
	write("ccc",
		event("run", "TestCase04Four", ""),
		event("output", "TestCase04Four", `,"Output":"    case_test.go:150: case 4 with policies: 9 failed\n"`), event("fail", "TestCase04Four", ""),
		event("run", "TestCase04Four", ""))

	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(string(content), caseTableHead)
	const expected = `| Case01One | passed, FLAKY | bbb | 2026-01-02 | 0:00 |  |
| Case02Two | passed | aaa | 2026-01-02 | 1:01 | 0 of 7 \| 8 failed |
| Case04Four | FAILED | ccc | 2026-01-02 | 0:00 | 9 failed |
`
	if got != expected {
		t.Errorf("the table is\n%s\nnot\n%s", got, expected)
	}
}

func TestTheNightlyReportHasARowForEachPartOfTheSimulation(t *testing.T) {
	t.Parallel()
	events := filepath.Join(t.TempDir(), "simulation.json")
	err := os.WriteFile(events, []byte(`
{"Action":"run","Package":"p","Test":"TestSeeds"}
{"Action":"run","Package":"p","Test":"TestSeeds/from_000000"}
{"Action":"run","Package":"p","Test":"TestSeeds/from_000000/1"}
{"Action":"output","Package":"p","Test":"TestSeeds/from_000000","Output":"    simulation_test.go:70: 5000 of 5000 seeds in 2m\n"}
{"Action":"pass","Package":"p","Test":"TestSeeds/from_000000/1"}
{"Action":"pass","Package":"p","Test":"TestSeeds/from_000000","Elapsed":120}
{"Action":"run","Package":"p","Test":"TestSeeds/from_005000"}
{"Action":"run","Package":"p","Test":"TestTrace"}
{"Action":"pass","Package":"p","Test":"TestTrace"}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readResults(events)
	if err != nil {
		t.Fatal(err)
	}
	got := caseTable("", stage{name: "simulation", tests: []suite{{"simulation", r}}}.cases("aaa", "2026-01-02"))
	want := caseTableHead + "| Seeds/from_000000 | passed | aaa | 2026-01-02 | 2:00 | 5000 of 5000 seeds in 2m |\n"
	if got != want {
		t.Errorf("the table is\n%s\nnot\n%s", got, want)
	}
}
