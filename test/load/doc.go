// Package load sends HTTP requests at a fixed rate for as long as something else happens, and remembers why each failed one failed.
// Enter at [Start]; [Run.Stop] returns the [Result].
// It must not retry: a request that fails once has failed.
package load
