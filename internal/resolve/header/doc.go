// Package header says which names and values of headers can be sent.
// Enter at [CheckName], [CheckValue] and [Metadata].
// It must not know what a header is for.
package header
