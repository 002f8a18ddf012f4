// Package pki makes and rotates the certificates by which proxies know their control plane, and knows how long each lives and why.
// Enter at [Advance] for the authority, at [Authority.Bundle] for what proxies trust, and at [ServerTLS] for the server's side.
// It must not know Kubernetes, where the state is kept, or what time it is: data and time are passed in.
package pki
