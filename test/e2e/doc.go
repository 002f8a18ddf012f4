// Package e2e proves on a real cluster what Gatewright promises: one file for each promise, one namespace for each test.
// Enter at any *_test.go; test/live has what they share. Run with `make e2e` on a cluster where Gatewright is installed.
// It must not know how Gatewright works inside: it sees objects, pods and answers to requests.
package e2e
