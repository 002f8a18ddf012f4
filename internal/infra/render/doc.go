// Package render knows which Kubernetes objects run a Gateway's proxies.
// Enter at [Fleet], which returns every object of one fleet. Objects hold only the fields that Gatewright owns, ready for server-side
// apply. It must not know a client, a clock, or how Envoy is configured.
package render
