package cluster

import (
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// fixed sends requests to endpoints that a user lists. Either all of them are names, or none is.
func fixed(c *clusterv3.Cluster, endpoints []ir.FixedEndpoint, preferred ir.Family, s *ir.DestinationSettings) {
	c.EdsClusterConfig = nil
	if endpoints[0].Name != "" {
		resolved(c, preferred, s)
	} else {
		c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	}
	c.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: c.GetName()}
	var zones []string
	for _, e := range endpoints {
		if !slices.Contains(zones, e.Zone) {
			zones = append(zones, e.Zone)
		}
	}
	for _, zone := range zones {
		group := &endpointv3.LocalityLbEndpoints{}
		if zone != "" {
			group.Locality = &corev3.Locality{Zone: zone}
		}
		for _, e := range endpoints {
			if e.Zone == zone {
				group.LbEndpoints = append(group.LbEndpoints, &endpointv3.LbEndpoint{
					HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: fixedAddress(e), Hostname: e.Hostname}},
				})
			}
		}
		c.LoadAssignment.Endpoints = append(c.LoadAssignment.Endpoints, group)
	}
}

func fixedAddress(e ir.FixedEndpoint) *corev3.Address {
	if e.Path != "" {
		return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: e.Path}}}
	}
	name := e.Name
	if name == "" {
		name = e.Address
	}
	return socketAddress(name, e.Port)
}

// hasSocket reports whether an endpoint is a Unix socket, which takes no options of TCP.
func hasSocket(endpoints []ir.FixedEndpoint) bool {
	return slices.ContainsFunc(endpoints, func(e ir.FixedEndpoint) bool { return e.Path != "" })
}

// failover sends requests to the first of some clusters that has healthy endpoints. They have settings of their own.
func failover(b ir.Backend, s *ir.DestinationSettings) *clusterv3.Cluster {
	config := &aggregatev3.ClusterConfig{}
	for _, m := range b.Members() {
		config.Clusters = append(config.Clusters, m.String())
	}
	c := &clusterv3.Cluster{
		Name: b.String(), ConnectTimeout: durationpb.New(connectTimeout), LbPolicy: clusterv3.Cluster_CLUSTER_PROVIDED,
		ClusterDiscoveryType: &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
			Name: "envoy.clusters.aggregate", TypedConfig: wire.Any(config),
		}},
	}
	addFailoverCredential(c, b.Protocol, s)
	return c
}
