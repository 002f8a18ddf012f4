package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// What one proxy may have open to one backend. These limits are defaults, so they are far from what a healthy backend needs; one that
// hangs, or leads back to the proxy, must leave enough for the others of the 50,000 connections that a proxy takes. docs/decisions/0018 has
// the values of others.
const (
	// maxForClients is for what clients send: connections, requests that wait for one, and requests under way.
	maxForClients = 10_000
	// maxForProxy is for the requests that a proxy makes itself: copies of others, and those for authorization, logs and spans. One server for
	// authorization may stand in front of every backend.
	maxForProxy = 10_000
)

// limits bounds what a cluster may take of a proxy. Envoy counts by the priority of a route, and has connections for each. Requests of
// clients have the high one, by their routes. What Envoy sends itself always has the other: so copies of requests that are never answered
// take nothing from requests of clients to the same backend.
func limits(protocol ir.BackendProtocol) *clusterv3.CircuitBreakers {
	if _, http := alpn[protocol]; !http {
		// Connections and sessions of datagrams have no priority.
		return &clusterv3.CircuitBreakers{
			Thresholds: []*clusterv3.CircuitBreakers_Thresholds{atMost(corev3.RoutingPriority_DEFAULT, maxForClients)},
		}
	}
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{
		atMost(corev3.RoutingPriority_DEFAULT, maxForProxy),
		atMost(corev3.RoutingPriority_HIGH, maxForClients),
	}}
}

func atMost(priority corev3.RoutingPriority, number uint32) *clusterv3.CircuitBreakers_Thresholds {
	return &clusterv3.CircuitBreakers_Thresholds{
		Priority:           priority,
		MaxConnections:     wrapperspb.UInt32(number),
		MaxPendingRequests: wrapperspb.UInt32(number),
		MaxRequests:        wrapperspb.UInt32(number),
	}
}
