// Package fuzz feeds generated worlds of objects through the whole control plane to a live Envoy, which has to take everything.
// Enter at TestEnvoyTakesEverything, run by `make fuzz`; a failure prints the smallest set of objects that shows it.
// It must not know what a translation looks like: whether it is right is for Envoy to say.
package fuzz
