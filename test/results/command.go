package main

import (
	"regexp"
	"strings"
)

const module = "github.com/gatewright/gatewright"

// modules are the directories of the repository that are Go modules with tests of their own, the longest first.
var modules = []string{"test/argocd", "test", "api"}

// clusterSuites are run by a make target of the same name, inside the network of the cluster.
var clusterSuites = map[string]string{"e2e": "make e2e", "fault": "make fault SHORT=1"}

// again returns the command that runs a failed test again, or that of its stage where a test cannot be run alone.
func again(s stage, suite string, key id) string {
	if command, found := clusterSuites[suite]; found && key.test != "" {
		return "TESTFLAGS='-test.run=" + strings.ReplaceAll(pattern(key.test), "$", "$$") + "' " + command // make expands $
	}
	if !strings.HasPrefix(suite, "unit") {
		return s.command
	}
	command := "go test -count=1"
	dir := strings.TrimPrefix(strings.TrimPrefix(key.pkg, module), "/")
	for _, m := range modules {
		if dir == m || strings.HasPrefix(dir, m+"/") {
			command, dir = "go test -C "+m+" -count=1", strings.TrimPrefix(strings.TrimPrefix(dir, m), "/")
			break
		}
	}
	if suite != "unit-properties" {
		command += " -race"
	}
	if key.test != "" {
		command += " -run='" + pattern(key.test) + "'"
	}
	return command + " ./" + dir
}

// pattern matches one test and nothing else.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
