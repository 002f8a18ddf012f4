// Package wire holds the shapes that Envoy resources share: a message packed to bytes that never vary, "ask over this stream", a share of a whole.
// Enter at [Any], [ADS] and [Share].
// It must not know any resource or anything of the intermediate representation.
package wire
