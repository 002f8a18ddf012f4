// Package conformance runs the official Gateway API conformance suite against the installed Gatewright and keeps the report.
// Enter at conformance_test.go, run with `make conformance` on a running cluster; claims.go says what is claimed.
// It must not change, skip or retry a test of the suite.
package conformance
