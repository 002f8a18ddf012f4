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
}

// id identifies a test; a package has no test name.
type id struct{ pkg, test string }

// attempt is one run of a test: what it printed, and how it ended. A test that did not end has no outcome.
type attempt struct {
	outcome     string
	lines       []string
	errors      []string // those of the lines that t.Error and t.Fatal printed
	failedBuild string
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
	case "output":
		r.current(key).print(e)
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], nonEmptyLines(e.Output)...)
	case "pass", "fail", "skip":
		a := r.current(key)
		a.outcome, a.failedBuild = e.Action, e.FailedBuild
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

func (a *attempt) print(e event) {
	if e.OutputType == "frame" {
		return
	}
	lines := nonEmptyLines(e.Output)
	a.lines = append(a.lines, lines...)
	if strings.HasPrefix(e.OutputType, "error") {
		a.errors = append(a.errors, lines...)
	}
}

// failed returns whether the last run of the test failed. A test that did not end when its package did was stopped with it.
func (r *results) failed(key id) bool {
	switch r.current(key).outcome {
	case "fail":
		return true
	case "":
		return r.current(id{pkg: key.pkg}).outcome == "fail"
	default:
		return false
	}
}

// failures lists what failed, without the tests and packages that failed only because a subtest or test of theirs did.
func (r *results) failures() []id {
	var failed []id
	for _, key := range r.order {
		if r.failed(key) {
			failed = append(failed, key)
		}
	}
	return slices.DeleteFunc(slices.Clone(failed), func(key id) bool {
		below := slices.ContainsFunc(failed, func(other id) bool { return other != key && key.contains(other) })
		a := r.current(key)
		return below && len(a.errors) == 0 && alarm(a.lines) < 0
	})
}

// contains returns whether the other is a subtest of the test, or a test of the package.
func (key id) contains(other id) bool {
	return key.pkg == other.pkg && (key.test == "" || strings.HasPrefix(other.test, key.test+"/"))
}

// flaky lists the tests that failed and passed when they were run once more. As above, only what failed by itself.
func (r *results) flaky() []id {
	var flaky []id
	for _, key := range r.order {
		all := r.attempts[key]
		if key.test != "" && len(all) > 1 && all[0].outcome == "fail" && !r.failed(key) {
			flaky = append(flaky, key)
		}
	}
	return slices.DeleteFunc(slices.Clone(flaky), func(key id) bool {
		return len(r.attempts[key][0].errors) == 0 &&
			slices.ContainsFunc(flaky, func(other id) bool { return other != key && key.contains(other) })
	})
}

// count returns how many tests and subtests ended in each way when they were run last.
func (r *results) count() (passed, failed, skipped int) {
	for _, key := range r.order {
		switch {
		case key.test == "":
		case r.failed(key):
			failed++
		case r.current(key).outcome == "pass":
			passed++
		case r.current(key).outcome == "skip":
			skipped++
		}
	}
	return passed, failed, skipped
}
