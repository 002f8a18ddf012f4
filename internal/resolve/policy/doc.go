// Package policy says what policies on backends and Gateways ask for, and XBackends; attach decides between several policies.
// Enter at [BackendTLS], [BackendTraffic], [Telemetry] and [XBackend].
// It must not know how a proxy is configured, or what else a route does with a backend.
package policy
