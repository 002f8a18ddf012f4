// Package bench measures an implementation of the Gateway API from outside, by its GatewayClass, and beside it the lower bounds on the
// same machine: the API server's way to a watcher, and the same Envoy with a control plane that does nothing but push.
// Enter at [TestScale] in scale_test.go, run with `make bench`; [TestCosts] in costs_test.go is the short form, which counts only.
// It must not know how Gatewright works inside; what only Gatewright reports (its metrics) may be missing.
package bench
