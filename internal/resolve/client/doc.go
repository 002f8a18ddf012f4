// Package client resolves ClientTrafficPolicies: which settings apply to the connections and requests of clients at each listener.
// Enter at [Resolve] for one policy, at [Inputs.Effective] for the settings of a Gateway, and at [Inputs.Status].
// It must not know how Envoy is configured.
package client
