package main

import (
	"regexp"
	"strings"
)

const module = "github.com/gatewright/gatewright"

// modules are the directories of the repository that are Go modules with tests of their own, the longest first.
var modules = []string{"test/cluster/build/lwepp", "test/argocd", "test", "api"}

// clusterSuites are run by a make target of the same name, inside the network of the cluster.
var clusterSuites = map[string]string{"conformance": "make conformance", "e2e": "make e2e", "fault": "make fault SHORT=1"}

// clusterCommand starts the cluster that these need, as hack/gate-stages.sh does.
const clusterCommand = "make cluster-up images install-everything"

// again returns the command that runs a failed test again, or that of its stage where a test cannot be run alone.
func again(s stage, suite string, key id) string {
	parts := strings.Split(key.test, "/")
	switch command := clusterSuites[suite]; {
	case suite == "conformance" && len(parts) > 1:
		return command + " TESTFLAGS=-run-test=" + parts[1]
	case command != "" && key.test != "":
		return "TESTFLAGS=" + quote("-test.run="+strings.ReplaceAll(pattern(parts), "$", "$$")) + " " + command // make expands $
	case strings.HasPrefix(suite, "unit"):
		return unitCommand(suite, key.pkg, parts)
	default:
		return s.command
	}
}

func unitCommand(suite, pkg string, parts []string) string {
	command := "go test"
	dir := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
	for _, m := range modules {
		if dir == m || strings.HasPrefix(dir, m+"/") {
			command, dir = "go test -C "+m, strings.TrimPrefix(strings.TrimPrefix(dir, m), "/")
			break
		}
	}
	command += " -count=1"
	if suite == "unit" || suite == "unit-test-tools" {
		command += " -race"
	}
	if parts[0] != "" {
		command += " -run=" + quote(pattern(parts))
	}
	return command + " ./" + dir
}

// quote makes one word of a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// pattern matches one test and nothing else.
func pattern(parts []string) string {
	exact := make([]string, len(parts))
	for i, part := range parts {
		exact[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(exact, "/")
}
