// Package render knows which Kubernetes objects run a Gateway's proxies and how Envoy starts in them.
// Enter at [Fleet], which gives every object of one fleet holding only the fields that Gatewright owns, ready for server-side apply.
// It must not know a client, a clock, or what the proxies will serve once they have started.
package render
