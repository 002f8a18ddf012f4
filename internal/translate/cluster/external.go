package cluster

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	commondnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/common/dns/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// How often a name is asked for. Each proxy asks for each name, so that ten thousand names are ten thousand questions for each proxy in
// this time.
const (
	// leastRefresh is for records that are valid for a shorter time, for none, and for names that do not exist.
	leastRefresh = 30 * time.Second
	// refreshSpread keeps proxies that were started together from asking together.
	refreshSpread = 5 * time.Second
	// What is not answered is asked for again after a random part of a time that doubles, from the first to the second of these.
	firstAfterFailure, lastAfterFailure = 5 * time.Second, time.Minute
)

// external has the proxy ask for the addresses of a name, for as long as their records are valid. The name is taken as it is: with the
// search domains of a pod it could mean a Service of the cluster.
//
// The cluster is ready at once, and answers 503 until the name is resolved. Otherwise Envoy would not acknowledge any cluster before this
// one is resolved, and a name that is never answered would hold back every change of the proxy.
func external(c *clusterv3.Cluster, hostname string, port int32, preferred ir.Family, s *ir.DestinationSettings) {
	c.EdsClusterConfig = nil
	resolved(c, preferred, s)
	c.LoadAssignment = &endpointv3.ClusterLoadAssignment{
		ClusterName: c.GetName(),
		Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socketAddress(hostname, port)}},
		}}}},
	}
}

func socketAddress(host string, port int32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       host,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)}, //nolint:gosec // a port number, validated by the API server
	}}}
}

// resolved has the proxy ask for the addresses of the endpoints.
func resolved(c *clusterv3.Cluster, preferred ir.Family, s *ir.DestinationSettings) {
	resolution, refresh := &ir.DNS{}, leastRefresh
	if s != nil && s.DNS != nil {
		resolution = s.DNS
	}
	if resolution.Refresh > 0 {
		refresh = resolution.Refresh
	}
	c.WaitForWarmOnInit = wrapperspb.Bool(false)
	c.ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
		Name: wire.DNSCluster,
		TypedConfig: wire.Any(&dnsv3.DnsCluster{
			DnsLookupFamily:   lookup(resolution.Family, preferred),
			RespectDnsTtl:     !resolution.IgnoreTTL,
			DnsMinRefreshRate: durationpb.New(refresh),
			DnsRefreshRate:    durationpb.New(refresh),
			DnsJitter:         durationpb.New(refreshSpread),
			DnsFailureRefreshRate: &dnsv3.DnsCluster_RefreshRate{
				BaseInterval: durationpb.New(firstAfterFailure), MaxInterval: durationpb.New(lastAfterFailure),
			},
			TypedDnsResolverConfig: &corev3.TypedExtensionConfig{
				Name: wire.CaresResolver,
				TypedConfig: wire.Any(&caresv3.CaresDnsResolverConfig{
					DnsResolverOptions: &corev3.DnsResolverOptions{NoDefaultSearchDomain: true},
				}),
			},
		}),
	}}
}

// lookup asks for addresses of the preferred family, and for others only if a name has none of these: a proxy that has IPv6 alone must not
// be given the IPv4 addresses of a name that has both. Envoy calls IPv6 first AUTO.
func lookup(family string, preferred ir.Family) commondnsv3.DnsLookupFamily {
	if known, ok := families[family]; ok {
		return known
	}
	if preferred == ir.IPv6 {
		return commondnsv3.DnsLookupFamily_AUTO
	}
	return commondnsv3.DnsLookupFamily_V4_PREFERRED
}

// families are what policies can ask for.
var families = map[string]commondnsv3.DnsLookupFamily{
	ir.LookupIPv4: commondnsv3.DnsLookupFamily_V4_ONLY, ir.LookupIPv6: commondnsv3.DnsLookupFamily_V6_ONLY,
	ir.LookupIPv4Preferred: commondnsv3.DnsLookupFamily_V4_PREFERRED, ir.LookupIPv6Preferred: commondnsv3.DnsLookupFamily_AUTO,
	ir.LookupBoth: commondnsv3.DnsLookupFamily_ALL,
}
