// Package cluster knows how a proxy talks to one backend: protocol, limits, balancing, and where its endpoints come from.
// Enter at [Cluster].
// It must not know endpoints, which have a lane of their own, or which routes use a backend.
package cluster
