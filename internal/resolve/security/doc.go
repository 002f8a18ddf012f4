// Package security resolves SecurityPolicies: which requests may reach what their targets serve. A setting that cannot be resolved is
// broken, and then no request of its targets may pass. Enter at [Kind], whose functions resolve one policy and convert merged settings.
// It must not know how Envoy is configured, or which policy decides.
package security
