// Package bootstrap builds the configuration that Envoy starts with: where it gets listeners and clusters, its ready listener, and
// its overload manager. Enter at [Files], which returns the same bytes for the same input.
// It must not know Kubernetes objects, or what the proxies serve once they have their configuration.
package bootstrap
