// Package fault injects faults into a running installation and measures what they cost: one test for each case of docs/faults.md.
// Enter at any TestCase function; [begin] in case_test.go starts a case. Run with `make fault`, or `make fault CASE=14`.
// It must not know how Gatewright works inside, except for what a fault needs: where a stream is cut, which statistics Envoy has.
package fault
