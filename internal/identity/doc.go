// Package identity finds out who calls the xDS server: a token is checked by the API server, and what it proves is looked up in what the control plane knows of its fleets.
// Enter at [New] and [Verifier.Authenticate]; [Fleets] is filled by whoever knows the Gateways and their Deployments.
// It must not know what a proxy is given, and must not believe anything that a caller says of itself.
package identity
