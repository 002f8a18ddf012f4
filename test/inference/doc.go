// Package inference runs the official conformance suite of the Gateway API Inference Extension, with its own endpoint picker, and tests of
// our own. Enter at TestInference, which `make conformance-inference` runs on the test cluster (after `make install INFERENCE=1`).
// It must not change what the suite checks.
package inference
