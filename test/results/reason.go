package main

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// crashes begin what a test binary prints when it ends before its tests do.
	crashes = regexp.MustCompile(`^(panic:|fatal error:)`)
	// alarms begin what explains a failure better than anything a test printed itself.
	alarms = regexp.MustCompile(`^(panic:|fatal error:|WARNING: DATA RACE)`)
	// foreign are the frames of a stack that belong to Go itself, with its directory or, after -trimpath, without.
	foreign = regexp.MustCompile(`(/src/|^\s+)(testing|runtime|time|sync|internal)/|_testmain\.go:`)
)

// alarm returns the index of the first line that begins an alarm, or -1.
func alarm(lines []string) int { return slices.IndexFunc(lines, alarms.MatchString) }

// reason returns the lines, at most n, that best say why something failed.
func (r *results) reason(key id, n int) []string {
	a := r.current(key)
	if len(a.errors) > 0 {
		return a.reason(n)
	}
	if dead := r.dead(key.pkg); dead != nil {
		switch {
		case len(r.builds[dead.failedBuild]) > 0:
			return firstOf(r.builds[dead.failedBuild], n)
		case len(dead.crash) > 0:
			return firstOf(condense(dead.crash), n)
		case len(dead.lines) > 0:
			return lastOf(dead.lines, n)
		}
	}
	return a.reason(n)
}

func (a *attempt) reason(n int) []string {
	if i := alarm(a.lines); i >= 0 {
		return firstOf(condense(a.lines[i:]), n)
	}
	if len(a.errors) > 0 {
		return firstOf(a.errors, n)
	}
	return lastOf(a.lines, n)
}

// condense keeps the message of a panic or a race, and of the stacks below it the places outside Go itself.
func condense(lines []string) []string {
	var kept []string
	stack := false
	for _, line := range lines {
		stack = stack || strings.HasPrefix(line, "goroutine ")
		if !foreign.MatchString(line) && (!stack || strings.HasPrefix(line, "\t")) {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return kept
}

func firstOf(lines []string, n int) []string { return lines[:min(n, len(lines))] }

func lastOf(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }
