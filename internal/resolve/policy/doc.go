// Package policy says what policies on backends and Gateways mean, and XBackends: what they ask for, which of several decides, and what became of each.
// Enter at [BackendTLS], [BackendTraffic], [Telemetry] and [XBackend].
// It must not know how a proxy is configured, or what else a route does with a backend.
package policy
