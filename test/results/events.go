package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// event is a line of test2json, as "go doc test2json" describes it.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	OutputType  string
	FailedBuild string
	Elapsed     float64 // seconds
}

// id identifies a test; a package has no test name.
type id struct{ pkg, test string }

// contains returns whether the other is a subtest of the test, or a test of the package.
func (key id) contains(other id) bool {
	return key != other && key.pkg == other.pkg && (key.test == "" || strings.HasPrefix(other.test, key.test+"/"))
}

// attempt is one run of a test or package: what it printed, and how it ended. What did not end has no outcome.
type attempt struct {
	outcome string
	took    time.Duration
	paused  bool
	lines   []string
	errors  []string // those of the lines that t.Error and t.Fatal printed
	// The rest is about packages.
	finished    bool     // the test binary has said itself whether its tests passed
	crash       []string // from the first line of a panic on, whichever test printed it
	failedBuild string
}

// died returns whether a package did not get to the end of its tests: it panicked, timed out, exited, was killed or could not be built.
func (a *attempt) died() bool {
	return !a.finished && a.outcome != "pass" && a.outcome != "skip"
}

// results are the attempts of all tests and packages of a suite, in the order in which they began.
type results struct {
	order    []id
	attempts map[id][]*attempt
	builds   map[string][]string // what the compiler printed, by import path
}

func readResults(path string) (*results, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the results: %w", err)
	}
	defer func() { _ = file.Close() }()
	r := &results{attempts: map[id][]*attempt{}, builds: map[string][]string{}}
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadString('\n')
		// The last line may be incomplete, if the run was stopped.
		if e := (event{}); json.Unmarshal([]byte(line), &e) == nil {
			r.add(e)
		}
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
}

func (r *results) add(e event) {
	key := id{e.Package, e.Test}
	switch e.Action {
	case "start", "run":
		r.begin(key)
	case "pause", "cont":
		r.current(key).paused = e.Action == "pause"
	case "output":
		r.print(key, e)
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], nonEmptyLines(e.Output)...)
	case "pass", "fail", "skip":
		a := r.current(key)
		a.outcome, a.failedBuild = e.Action, e.FailedBuild
		a.took = time.Duration(e.Elapsed * float64(time.Second))
	}
}

func (r *results) begin(key id) *attempt {
	if r.attempts[key] == nil {
		r.order = append(r.order, key)
	}
	a := &attempt{}
	r.attempts[key] = append(r.attempts[key], a)
	return a
}

func (r *results) current(key id) *attempt {
	if all := r.attempts[key]; len(all) > 0 {
		return all[len(all)-1]
	}
	return r.begin(key)
}

func (r *results) print(key id, e event) {
	a, pkg := r.current(key), r.current(id{pkg: key.pkg})
	lines := nonEmptyLines(e.Output)
	if e.OutputType == "frame" {
		pkg.finished = pkg.finished || key.test == "" && (e.Output == "PASS\n" || e.Output == "FAIL\n")
		return
	}
	a.lines = append(a.lines, lines...)
	if strings.HasPrefix(e.OutputType, "error") {
		a.errors = append(a.errors, lines...)
	}
	// Parallel tests share the output, so the lines of a panic are those of any test.
	if len(pkg.crash) > 0 || slices.ContainsFunc(lines, crashes.MatchString) {
		pkg.crash = append(pkg.crash, lines...)
	}
}

// count returns how many tests and subtests ended in each way when they were run last.
func (r *results) count() (passed, failed, skipped int) {
	for _, key := range r.order {
		if key.test == "" {
			continue
		}
		switch r.current(key).outcome {
		case "pass":
			passed++
		case "fail":
			failed++
		case "skip":
			skipped++
		}
	}
	return passed, failed, skipped
}
