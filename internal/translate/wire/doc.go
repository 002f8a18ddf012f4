// Package wire holds the two shapes every Envoy resource shares: a message packed to bytes that never vary, and "ask over this stream".
// Enter at [Any] and [ADS].
// It must not know any resource or anything of the intermediate representation.
package wire
