// Package policy says what policies that attach to backends mean: what they ask for, which of several decides, and what became of each.
// Enter at [BackendTLS], [PortTLS] and [BackendTLSStatus].
// It must not know how a proxy is configured, or what else a route does with a backend.
package policy
