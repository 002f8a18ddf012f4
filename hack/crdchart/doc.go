// Package main writes the definitions that the chart gatewright-crds installs: Gatewright's own, and both channels of the Gateway API from
// the module that go.mod names. Enter at run, in main.go.
// It knows nothing of when a definition may be installed, which is up to the templates of the chart.
package main

//go:generate go run . ../..
