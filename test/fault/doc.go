// Package fault does to a running installation what must not hurt it, and measures: one test for each case, one line of figures with their limits.
// Enter at any case*_test.go; [begin] in trial_test.go says how a case states what it must show. Run with `make fault`, or `make fault CASE=14`.
// It must not know how Gatewright works inside, except for what a fault needs: where a stream is cut, which statistics of Envoy tell.
package fault
