// Package traffic resolves BackendTrafficPolicies: what each one asks for, and what merged settings mean for proxies. Enter at [Kind], by
// which package inherit merges. It must not know how Envoy is configured.
package traffic
