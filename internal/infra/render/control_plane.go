package render

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
)

// controlPlane is the cluster of the xDS servers: HTTP/2 over TLS with a token on each call, and pings so that a peer that vanished is noticed.
func controlPlane(settings Settings) (*clusterv3.Cluster, error) {
	socket, err := pack(upstreamTLS(settings))
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
					Address: socketAddress(settings.xdsHost(), settings.xdsPort()),
				}},
			}}}},
		},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol},
		TransportSocket: &corev3.TransportSocket{
			Name:       "envoy.transport_sockets.tls",
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: socket},
		},
	}
	return cluster, discover(cluster, settings.xdsHost())
}

// discover says how the host is found: an address as it is, a name by DNS. The name is complete, so the search domains of the pod,
// which would multiply the queries, are left out; a name that does not resolve yet is asked for again soon.
func discover(cluster *clusterv3.Cluster, host string) error {
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
		TypedDnsResolverConfig: &corev3.TypedExtensionConfig{Name: "envoy.network.dns_resolver.cares", TypedConfig: resolver},
	})
	if err != nil {
		return err
	}
	cluster.ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
		Name: "envoy.clusters.dns", TypedConfig: discovery,
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

// validationName is the one under which Envoy asks for the authorities.
const validationName = "xds-validation"

// upstreamTLS takes the authorities from a file that Envoy watches, so that their rotation needs neither a restart nor the control plane.
func upstreamTLS(settings Settings) *tlsv3.UpstreamTlsContext {
	return &tlsv3.UpstreamTlsContext{
		Sni: settings.ServerNames()[0],
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams: &tlsv3.TlsParameters{
				TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
				TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
			},
			AlpnProtocols: []string{"h2"},
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{
				ValidationContextSdsSecretConfig: fromFile(validationName, validationFile),
			},
		},
	}
}

func fromFile(name, file string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: configDirectory + "/" + file},
		},
	}}
}

// validationSecret points at the authorities, and says whose certificate is expected. A kubelet replaces the files of a volume by renaming
// a link in its directory, so it is the directory that is watched.
func validationSecret(settings Settings) (*discoveryv3.DiscoveryResponse, error) {
	return respond(&tlsv3.Secret{Name: validationName, Type: &tlsv3.Secret_ValidationContext{
		ValidationContext: &tlsv3.CertificateValidationContext{
			TrustedCa:        &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: configDirectory + "/" + BundleKey}},
			WatchedDirectory: &corev3.WatchedDirectory{Path: configDirectory},
			MatchTypedSubjectAltNames: []*tlsv3.SubjectAltNameMatcher{{
				SanType: tlsv3.SubjectAltNameMatcher_DNS,
				Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: settings.ServerNames()[0]}},
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
