// Package listener knows how a proxy meets its clients: sockets, TLS, the HTTP connection manager and the certificates they offer.
// Enter at [Listener] and [Secret].
// It must not know routes or backends, nor hold anything that changes often: a changed listener drains its connections.
package listener
