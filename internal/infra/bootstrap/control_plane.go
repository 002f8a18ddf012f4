package bootstrap

import (
	"net/netip"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	commondnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/common/dns/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// controlPlaneCluster is the cluster of the xDS servers: HTTP/2 over TLS with a token on each call. Keepalive pings detect a peer that is
// gone.
func controlPlaneCluster(server ControlPlane) (*clusterv3.Cluster, error) {
	socket, err := pack(upstreamTLS(server))
	if err != nil {
		return nil, err
	}
	protocol, err := upstreamProtocol()
	if err != nil {
		return nil, err
	}
	cluster := &clusterv3.Cluster{
		Name:           xdsCluster,
		ConnectTimeout: durationpb.New(2 * time.Second),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: xdsCluster,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
					Address: socketAddress(server.host(), server.port()),
				}},
			}}}},
		},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{wire.HTTPProtocolOptions: protocol},
		TransportSocket: &corev3.TransportSocket{
			Name:       wire.TLSTransportSocket,
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: socket},
		},
	}
	return cluster, setDiscovery(cluster, server.host())
}

// setDiscovery uses an address as it is, and looks up a name in DNS. The name is complete, so the pod's search domains, which would
// multiply the queries, are not used. A name that does not resolve yet is looked up again soon.
func setDiscovery(cluster *clusterv3.Cluster, host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
		return nil
	}
	resolver, err := pack(&caresv3.CaresDnsResolverConfig{
		DnsResolverOptions: &corev3.DnsResolverOptions{NoDefaultSearchDomain: true},
	})
	if err != nil {
		return err
	}
	discovery, err := pack(&dnsv3.DnsCluster{
		DnsLookupFamily: commondnsv3.DnsLookupFamily_V4_PREFERRED,
		DnsRefreshRate:  durationpb.New(10 * time.Second),
		DnsFailureRefreshRate: &dnsv3.DnsCluster_RefreshRate{
			BaseInterval: durationpb.New(500 * time.Millisecond),
			MaxInterval:  durationpb.New(2 * time.Second),
		},
		TypedDnsResolverConfig: &corev3.TypedExtensionConfig{Name: wire.CaresResolver, TypedConfig: resolver},
	})
	if err != nil {
		return err
	}
	cluster.ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
		Name: wire.DNSCluster, TypedConfig: discovery,
	}}
	return nil
}

func upstreamProtocol() (*anypb.Any, error) {
	filters, err := tokenFilters()
	if err != nil {
		return nil, err
	}
	return pack(&upstreamhttpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{ConnectionKeepalive: &corev3.KeepaliveSettings{
						Interval: durationpb.New(30 * time.Second),
						Timeout:  durationpb.New(5 * time.Second),
					}},
				},
			},
		},
		HttpFilters: filters,
	})
}

// validationName is the name of the secret with the authorities.
const validationName = "xds-validation"

// upstreamTLS takes the authorities from a file that Envoy watches. Their rotation needs neither a restart nor the control plane.
func upstreamTLS(server ControlPlane) *tlsv3.UpstreamTlsContext {
	return &tlsv3.UpstreamTlsContext{
		Sni: server.ServerNames()[0],
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams: &tlsv3.TlsParameters{
				TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
				TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
			},
			AlpnProtocols: []string{"h2"},
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{
				ValidationContextSdsSecretConfig: fromFile(validationName, validationSDS),
			},
		},
	}
}

func fromFile(name, file string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: ConfigDirectory + "/" + file},
		},
	}}
}

// validationSecret refers to the authorities and names the expected certificate. A kubelet replaces the files of a volume by renaming
// a link in its directory, so Envoy watches the directory.
func validationSecret(server ControlPlane) (*discoveryv3.DiscoveryResponse, error) {
	return respond(&tlsv3.Secret{Name: validationName, Type: &tlsv3.Secret_ValidationContext{
		ValidationContext: &tlsv3.CertificateValidationContext{
			TrustedCa:        &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: ConfigDirectory + "/" + BundleFile}},
			WatchedDirectory: &corev3.WatchedDirectory{Path: ConfigDirectory},
			MatchTypedSubjectAltNames: []*tlsv3.SubjectAltNameMatcher{{
				SanType: tlsv3.SubjectAltNameMatcher_DNS,
				Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: server.ServerNames()[0]}},
			}},
		},
	}})
}

func respond(secret *tlsv3.Secret) (*discoveryv3.DiscoveryResponse, error) {
	resource, err := pack(secret)
	if err != nil {
		return nil, err
	}
	return &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{resource}}, nil
}

func socketAddress(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}
