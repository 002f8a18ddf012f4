// Package reply reads what proxies answer by themselves: a body, inline or of a ConfigMap, and headers with variables.
// Enter at [Body] and [HeaderFormats].
// It must not know which kind of object has them.
package reply
