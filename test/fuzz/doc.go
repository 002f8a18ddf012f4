// Package fuzz feeds generated sets of objects through the whole control plane to a live Envoy, which has to take everything.
// Enter at TestEnvoyTakesEverything, run by `make fuzz`; a failure prints the smallest set of objects that shows it.
// TestExplainAnswersAsEnvoyDoes, run by `make explain`, sends requests too.
// It must not know what a translation looks like: whether it is right is for Envoy to say.
package fuzz
