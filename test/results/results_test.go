package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hanging is a flag for packages whose tests hang, and have to be stopped. The others have all the time they need.
const hanging = "-timeout=5s"

// goTest runs the tests of testdata/failing, and appends what they report to a file.
func goTest(t *testing.T, file, rerun string, arguments ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"test", "-count=1", "-json"}, arguments...)...)
	cmd.Dir = "testdata/failing"
	cmd.Env = append(os.Environ(), "RERUN="+rerun)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("run go test: %v", err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Write(out); err != nil {
		t.Fatal(err)
	}
}

// run prepares a directory as hack/gate-stages.sh does, and returns the report.
func run(t *testing.T, dir string, stages ...string) (summary, string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "stages"), []byte(strings.Join(stages, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := readStages(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := summarize(read)
	return s, s.String()
}

func stageDir(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEveryKindOfFailureIsExplained lets tests fail in each way there is, and looks for the reason and the command in the last 40 lines.
func TestEveryKindOfFailureIsExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lint := stageDir(t, dir, "lint")
	if err := os.WriteFile(filepath.Join(lint, "log"), []byte("a.go:1:2: unused parameter\nmake: *** [lint] Error 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(stageDir(t, dir, "unit"), "unit.json")
	goTest(t, file, "", "./assertion", "./build", "./exits", "./panics", "./passes")
	goTest(t, file, "", hanging, "./timeout")

	s, out := run(t, dir, "lint\t2\t61\tlint\tmake lint", "unit\t1\t5\tunit tests\tmake test")
	t.Log(out)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	end := strings.Join(lines[max(0, len(lines)-40):], "\n")
	for _, expected := range []string{
		"FAIL lint (exit code 2)", "a.go:1:2: unused parameter", "again: make lint",
		"FAIL example.org/failing/assertion TestTable/wrong_answer", "assertion_test.go:10: the answer is 41,\n", "not 42\n",
		"again: go test -count=1 -race -run='^TestTable$/^wrong_answer$' ",
		"FAIL example.org/failing/build\n", "build/build_test.go:5:38: undefined: undefinedName",
		"FAIL example.org/failing/exits\n", "the set-up failed: no cluster",
		"FAIL example.org/failing/panics TestPanics/inside\n", "panic: assignment to entry in nil map", "panics_test.go:10",
		"FAIL example.org/failing/timeout TestSlow\n", "panic: test timed out after 5s", "again: go test -count=1 -race -run='^TestSlow$' ",
	} {
		if !strings.Contains(end, expected) {
			t.Errorf("the last 40 lines do not have %q", expected)
		}
	}
	if strings.Contains(end, "FAIL example.org/failing/assertion TestTable\n") {
		t.Error("a test that failed only because its subtest did is listed too")
	}
	// lint, build, exits; TestTable, wrong_answer; TestPanics, inside; TestSlow.
	if sum := fmt.Sprintf("%d passed, %d failed, %d skipped", s.passed, s.failed, s.skipped); sum != "3 passed, 8 failed, 1 skipped" ||
		lines[len(lines)-1] != sum {
		t.Errorf("the sum is %s, and the last line is %q", sum, lines[len(lines)-1])
	}
}

func TestTheLastRunOfATestCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(stageDir(t, dir, "e2e"), "e2e.json")
	goTest(t, file, "", "./flaky")
	goTest(t, file, "1", "./flaky")

	s, out := run(t, dir, "e2e\t0\t5\tend to end\tmake e2e")
	if s.passed != 2 || s.failed != 0 || len(s.failures) != 0 {
		t.Errorf("%d passed, %d failed", s.passed, s.failed)
	}
	if !strings.Contains(out, "FLAKY example.org/failing/flaky TestFlaky/sometimes\n      flaky_test.go:11: the pod was late\n"+
		"  again: TESTFLAGS='-test.run=^TestFlaky$$/^sometimes$$' make e2e\n") {
		t.Errorf("the flaky test is not explained:\n%s", out)
	}
}

func TestTimesAboveTheirLimitsAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	row := "case 47  passed    9s  abuse: served within 1.2s (SLOW: the limit is 1s), 0 restarts, after 3s (SLOW: the limit is 2s)"
	log := "case 48  passed    9s  tokens: after 3s\n" + row + "\n"
	if err := os.WriteFile(filepath.Join(stageDir(t, dir, "faults"), "log"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out := run(t, dir, "faults\t0\t5\tfaults\tmake fault"); !strings.Contains(out,
		"\n\ncase 47: served within 1.2s (SLOW: the limit is 1s)\ncase 47: after 3s (SLOW: the limit is 2s)\n0 passed") {
		t.Errorf("the report is\n%s", out)
	}
}

// TestADeadTestBinaryIsNotExcused: gotestsum runs what failed once more, but not the tests that had not begun when the binary died.
func TestADeadTestBinaryIsNotExcused(t *testing.T) {
	t.Parallel()
	for pkg, expected := range map[string]string{
		"./exits":  "FAIL example.org/failing/exits\n  the set-up failed: no cluster\n",
		"./killed": "FAIL example.org/failing/killed",
	} {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(stageDir(t, dir, "e2e"), "e2e.json")
			goTest(t, file, "", pkg)
			goTest(t, file, "1", pkg)

			s, out := run(t, dir, "e2e\t0\t5\tend to end\tmake e2e")
			if s.failed == 0 || !strings.Contains(out, expected) {
				t.Errorf("%d failed:\n%s", s.failed, out)
			}
		})
	}
}

// TestParallelTestsThatAPanicStops are not listed each: what panicked or timed out explains all.
func TestParallelTestsThatAPanicStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	goTest(t, filepath.Join(stageDir(t, dir, "unit"), "unit.json"), "", hanging, "./parallel")
	s, out := run(t, dir, "unit\t1\t5\tunit tests\tmake test")
	if len(s.failures) != 1 || !strings.Contains(out, "panic: test timed out after 5s\n") || !strings.Contains(out, "TestHangs") {
		t.Errorf("%d failures:\n%s", len(s.failures), out)
	}
}

func TestAStageWithoutATestFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(stageDir(t, dir, "e2e"), "e2e.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, out := run(t, dir, "e2e\t0\t5\tend to end\tmake e2e"); s.failed != 1 || !strings.Contains(out, "FAIL end to end (no test ran)") {
		t.Errorf("%d failed:\n%s", s.failed, out)
	}
}

// TestEveryPartThatFailedIsListed: a stage of several parts goes on when one fails.
func TestEveryPartThatFailedIsListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	test := stageDir(t, dir, "test")
	goTest(t, filepath.Join(test, "unit.json"), "", "./assertion")
	for name, content := range map[string]string{
		"failed":       "1\tunit\n2\tunit-api\n",
		"unit.log":     "what the reporter takes from unit.json\n",
		"unit-api.log": "api/v1alpha1/a.go:3:4: unreachable code\nmake[1]: *** [Makefile:1: unit-api] Error 1\n",
		"log":          "--- 2 of 6 failed: make unit unit-api\n",
	} {
		if err := os.WriteFile(filepath.Join(test, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, out := run(t, dir, "test\t2\t5\tunit tests\tmake test")
	if len(s.failures) != 2 || !strings.Contains(out, "FAIL example.org/failing/assertion TestTable/wrong_answer\n") || !strings.Contains(out,
		"FAIL unit tests: unit-api (exit code 2)\n  api/v1alpha1/a.go:3:4: unreachable code\n  again: make unit-api\n") {
		t.Errorf("%d failures:\n%s", len(s.failures), out)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	s := stage{command: "make simulate"}
	for _, c := range []struct {
		suite    string
		key      id
		expected string
	}{
		{"unit", id{module + "/internal/xds", "TestA/b c"}, "go test -count=1 -race -run='^TestA$/^b c$' ./internal/xds"},
		{"unit", id{module, ""}, "go test -count=1 -race ./"},
		{"unit-properties", id{module + "/internal/pipeline", "TestA"}, "go test -count=1 -run='^TestA$' ./internal/pipeline"},
		{"unit-test-tools", id{module + "/test/load", "TestA"}, "go test -C test -count=1 -race -run='^TestA$' ./load"},
		{"unit-argocd", id{module + "/test/argocd", "TestA"}, "go test -C test/argocd -count=1 -run='^TestA$' ./"},
		{"e2e", id{module + "/test/e2e", "TestA"}, "TESTFLAGS='-test.run=^TestA$$' make e2e"},
		{"fault", id{module + "/test/fault", "TestCase11A"}, "TESTFLAGS='-test.run=^TestCase11A$$' make fault SHORT=1"},
		{"conformance", id{module + "/test/conformance", "TestConformance/HTTPRouteA/b"}, "make conformance TESTFLAGS=-run-test=HTTPRouteA"},
		{"simulation", id{module + "/test/simulation", "TestSeeds/0"}, "make simulate"},
		{"unit", id{module + "/internal/xds", "TestA/it's"}, `go test -count=1 -race -run='^TestA$/^it'\''s$' ./internal/xds`},
	} {
		if actual := again(s, c.suite, c.key); actual != c.expected {
			t.Errorf("%s %s: %s, not %s", c.suite, c.key, actual, c.expected)
		}
	}
}
