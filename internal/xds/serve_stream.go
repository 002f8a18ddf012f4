package xds

import (
	"context"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// ServeStream serves one stream until it ends, without gRPC and without authentication: the caller vouches for the identity.
func (s *Server) ServeStream(identity Identity, connection discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	ctx := context.WithValue(connection.Context(), proofKey{}, Proof{Identity: identity})
	return (&service{Server: s, running: ctx}).DeltaAggregatedResources(identified{connection, ctx})
}

// identified is a stream whose context carries the identity of the caller.
type identified struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	ctx context.Context
}

// Context implements [grpc.ServerStream].
func (i identified) Context() context.Context { return i.ctx }
