// Package bench measures an implementation of the Gateway API from outside, by its GatewayClass, and beside it what nobody could be faster than on the same
// machine: the API server's way to a watcher, and the same Envoy with a control plane that does nothing but push.
// Enter at [TestScale] in scale_test.go, run with `make bench`; [TestCosts] in costs_test.go is the short form, which
// counts and measures no time.
// It must not know how Gatewright works inside; what only Gatewright tells of itself (its metrics) may be missing.
package bench
