package baseline

import (
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// connectTimeout is how long a backend may take to take a connection.
const connectTimeout = 5 * time.Second

// ScopedListener finds the routes of each host in a scope of its own, which is how Envoy takes one more at the same cost however many
// there are.
func ScopedListener(port uint32) Resource {
	manager := manager()
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
		Name: "scopes",
		ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
			Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
				HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
					Name: ":authority", ElementSeparator: ":",
					ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0},
				},
			},
		}}},
		RdsConfigSource: overADS(),
		ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: &hcmv3.ScopedRds{ScopedRdsConfigSource: overADS()}},
	}}
	listener := listener(port, manager, nil)
	return Resource{listener.GetName(), listener}
}

// Scope sends a host to a cluster.
func Scope(host, cluster string) Resource {
	return Resource{host, &routev3.ScopedRouteConfiguration{
		Name: host,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: host},
		}}},
		RouteConfiguration: table(host, toCluster(cluster)),
	}}
}

// Cluster is asked for its endpoints over the same stream.
func Cluster(name string) Resource {
	return Resource{name, &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(connectTimeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: overADS()},
	}}
}

// Endpoint is the only one of a cluster.
func Endpoint(cluster, address string, port uint32) Resource {
	return Resource{cluster, assignment(cluster, address, port)}
}

func assignment(cluster, address string, port uint32) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: cluster, Endpoints: []*endpointv3.LocalityLbEndpoints{{
		LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: at(address, port),
		}}}},
	}}}
}

// table answers one host.
func table(host string, route *routev3.Route) *routev3.RouteConfiguration {
	route.Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
	return &routev3.RouteConfiguration{Name: host, VirtualHosts: []*routev3.VirtualHost{{
		Name: host, Domains: []string{host}, Routes: []*routev3.Route{route},
	}}}
}

func toCluster(name string) *routev3.Route {
	return &routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{
		ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name},
	}}}
}

func manager() *hcmv3.HttpConnectionManager {
	return &hcmv3.HttpConnectionManager{
		StatPrefix: "bench",
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&routerv3.Router{})},
		}},
	}
}

func listener(port uint32, manager *hcmv3.HttpConnectionManager, tls *tlsv3.DownstreamTlsContext) *listenerv3.Listener {
	chain := &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
		Name:       "envoy.filters.network.http_connection_manager",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(manager)},
	}}}
	name := "http"
	if tls != nil {
		name = "https"
		chain.TransportSocket = &corev3.TransportSocket{
			Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: packed(tls)},
		}
	}
	return &listenerv3.Listener{Name: name, Address: at("0.0.0.0", port), FilterChains: []*listenerv3.FilterChain{chain}}
}

// accessLog writes a line of JSON for each request.
func accessLog(fields map[string]string) []*accesslogv3.AccessLog {
	line := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, format := range fields {
		line.Fields[name] = structpb.NewStringValue(format)
	}
	return []*accesslogv3.AccessLog{{
		Name: "envoy.access_loggers.stdout",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: packed(&streamv3.StdoutAccessLog{
			AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
				Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: line},
			}},
		})},
	}}
}

func at(address string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func overADS() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// packed cannot fail: what is written here has a wire format.
func packed(message proto.Message) *anypb.Any {
	body, err := anypb.New(message)
	if err != nil {
		panic(err)
	}
	return body
}
