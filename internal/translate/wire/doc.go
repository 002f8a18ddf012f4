// Package wire holds what Envoy resources share: a message packed to bytes that never vary, "ask over this stream", a share of a whole,
// names of extensions, the last check. Enter at [Any], [ADS], [Share] and [Build]. It must not know any resource or anything of the
// intermediate representation.
package wire
