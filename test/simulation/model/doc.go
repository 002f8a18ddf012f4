// Package model is Envoy as far as a control plane can tell: what it asks for, acknowledges, refuses, warms, drains and answers, at the
// level of delta xDS messages.
// Enter at [New]; each rule names the file of Envoy's source that it was read from, and [Replay] compares the model with what a live Envoy
// sent.
// It must not know Gatewright, Kubernetes, or how messages travel.
package model
