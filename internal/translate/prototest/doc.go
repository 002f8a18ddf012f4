// Package prototest checks Envoy resources in tests.
// Enter at [Valid] and [CheckAPIValues].
// It must not know what a resource is for, and nothing but tests may import it.
package prototest
