package wire

import "strings"

// Literal keeps Envoy from expanding `%…%`: a user means what is written, and Envoy refuses a resource with a command that it does not
// know.
func Literal(value string) string { return strings.ReplaceAll(value, "%", "%%") }
