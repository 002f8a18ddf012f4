//go:build fault

package fault

import (
	"flag"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// runConcurrently runs subtests at the same time. Go would run only as many parallel tests as there are cores, and these mostly wait.
func runConcurrently(t *testing.T, parts map[string]func(*testing.T)) {
	t.Helper()
	var group sync.WaitGroup
	for name, part := range parts {
		group.Go(func() { t.Run(name, part) })
	}
	group.Wait()
}

// idleCases mostly wait for Envoy's timers. With SHORT=1 the first of them runs the others beside itself; at full length each runs alone.
var idleCases = struct {
	sync.Once
	run map[string]func(*testing.T)
}{run: map[string]func(*testing.T){
	"TestCase43HostsAfterIdleTime": hostsAfterIdleTime,
	"TestCase52LongConnections":    longConnections,
	"TestCase54RemovedAndRestored": removedAndRestored,
}}

// runIdleCase runs one of the waiting cases, unless it ran beside another.
func runIdleCase(t *testing.T) {
	t.Helper()
	if !testing.Short() {
		idleCases.run[t.Name()](t)
		return
	}
	ran := false
	idleCases.Do(func() {
		ran = true
		selected := map[string]func(*testing.T){}
		for name, run := range idleCases.run {
			if isSelected(t, name) {
				selected[name] = run
			}
		}
		runConcurrently(t, selected)
	})
	if !ran {
		t.Log("it ran as a subtest of the first case that waits")
	}
}

// isSelected says whether a test runs by the flags of this run.
func isSelected(t *testing.T, name string) bool {
	t.Helper()
	// What follows a slash selects subtests.
	expression, _, _ := strings.Cut(flag.Lookup("test.run").Value.String(), "/")
	pattern, err := regexp.Compile(expression)
	if err != nil {
		t.Fatal(err)
	}
	return pattern.MatchString(name)
}

// calm is held for reading while a time is measured, and for writing while the controllers restart: no case measures a restart of another.
var calm sync.RWMutex
