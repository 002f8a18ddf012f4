// Package identity authenticates callers of the xDS server: the API server reviews their token, and [Fleets] maps the ServiceAccount to a
// Gateway.
// Enter at [New] and [Verifier.Authenticate]; the wiring fills [Fleets] with Gateways and Deployments.
// It must not know the configuration of proxies, and must not trust what callers claim about themselves.
package identity
