// Package class resolves a GatewayClass: whether it selects this installation, its ProxyConfig, and the Gateway API that the cluster has.
// Enter at [Resolve]. It must not know Gateways.
package class
