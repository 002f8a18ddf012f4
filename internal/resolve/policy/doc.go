// Package policy resolves policies on backends and Gateways; attach decides between several policies.
// Enter at [BackendTLS], [BackendTraffic] and [Telemetry].
// It must not know how a proxy is configured, or what else a route does with a backend.
package policy
