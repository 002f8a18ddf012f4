// Package infra holds what runs proxies: render says which objects a fleet needs, apply brings them to the cluster, and authority keeps
// the certificate authority that proxies and control plane trust.
// Enter at [github.com/gatewright/gatewright/internal/infra/apply.Applier].
// It must not know routes, nor what the proxies are told over xDS.
package infra
