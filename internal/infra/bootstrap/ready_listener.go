package bootstrap

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/drain"
	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	// ReadyPort answers [ReadyPath] in every proxy, and [MetricsPath] in most. No listener of a Gateway can have it.
	ReadyPort = ir.ReadyPort
	// ReadyPath returns 200 once a proxy has its whole configuration, and 503 while it drains.
	ReadyPath = "/ready"
	// MetricsPath returns the metrics of a proxy in the format of Prometheus. Proxies configured by files have none.
	MetricsPath = "/metrics"
)

// The port is open to every pod of the cluster, and bypasses the overload manager and the limit of connections. So it has limits of its
// own: a kubelet and Prometheus need a few short connections. The main thread, which also applies configuration, writes the metrics, so
// only a few requests run at a time.
const (
	readyName        = "ready"
	readyConnections = 1000
	readyHeaders     = 5 * time.Second
	readyIdle        = 15 * time.Second
	readyStream      = 30 * time.Second
	readyAge         = 5 * time.Minute
	readyMetrics     = 4
)

// adminCluster is the administration interface of the proxy itself.
const adminCluster = drain.OwnListener + "admin"

// readyListener answers those two paths, and returns 404 for all others. An overloaded proxy stays ready: to take it out of service
// would only move its load to the others.
func readyListener(gateway ir.Gateway, families ir.Families) (*listenerv3.Listener, error) {
	health, err := filter(wire.HealthCheckFilter, &healthv3.HealthCheck{
		PassThroughMode: wrapperspb.Bool(false),
		Headers:         []*routev3.HeaderMatcher{exactly(":path", ReadyPath)},
	})
	if err != nil {
		return nil, err
	}
	router, err := filter(wire.RouterFilter, &routerv3.Router{})
	if err != nil {
		return nil, err
	}
	connections := &hcmv3.HttpConnectionManager{
		StatPrefix: readyName,
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			Name: readyName, VirtualHosts: []*routev3.VirtualHost{{Name: readyName, Domains: []string{"*"}, Routes: readyRoutes(gateway)}},
		}},
		HttpFilters:           []*hcmv3.HttpFilter{health, router},
		RequestHeadersTimeout: durationpb.New(readyHeaders),
		RequestTimeout:        durationpb.New(readyHeaders),
		StreamIdleTimeout:     durationpb.New(readyStream),
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{
			IdleTimeout:           durationpb.New(readyIdle),
			MaxConnectionDuration: durationpb.New(readyAge),
		},
		Http2ProtocolOptions: &corev3.Http2ProtocolOptions{MaxConcurrentStreams: wrapperspb.UInt32(readyMetrics)},
	}
	if gateway.Fleet.Delivery == ir.Files {
		connections.RouteSpecifier = &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			ConfigSource: layout.ConfigSource(layout.Directory, layout.Loaded), RouteConfigName: layout.LoadedTable,
		}}
	}
	manager, err := pack(connections)
	if err != nil {
		return nil, err
	}
	addresses := families.Any()
	return &listenerv3.Listener{
		Name: readyName,
		// The prefix marks statistics that do not count clients.
		StatPrefix:            drain.OwnListener + readyName,
		Address:               socketAddress(addresses[0], ReadyPort),
		AdditionalAddresses:   additionalAddresses(addresses[1:], ReadyPort),
		BypassOverloadManager: true,
		IgnoreGlobalConnLimit: true,
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       wire.ConnectionManagerFilter,
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager},
		}}}},
	}, nil
}

// additionalAddresses are the addresses of a listener after the first.
func additionalAddresses(hosts []string, port uint32) []*listenerv3.AdditionalAddress {
	var all []*listenerv3.AdditionalAddress
	for _, host := range hosts {
		all = append(all, &listenerv3.AdditionalAddress{Address: socketAddress(host, port)})
	}
	return all
}

// readyRoutes expose only the metrics of the administration interface: they match the whole path with its query, and forward none of it.
func readyRoutes(gateway ir.Gateway) []*routev3.Route {
	if gateway.Fleet.Proxies.Metrics.Hidden {
		return nil
	}
	return []*routev3.Route{{
		Match: exactPath(MetricsPath),
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: adminCluster},
			PrefixRewrite:    "/stats/prometheus",
		}},
	}}
}

func exactPath(path string) *routev3.RouteMatch {
	return &routev3.RouteMatch{
		PathSpecifier: &routev3.RouteMatch_Path{Path: path},
		Headers:       []*routev3.HeaderMatcher{exactly(":path", path), exactly(":method", "GET")},
	}
}

func exactly(header, value string) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{Name: header, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
		StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: value}},
	}}
}

// adminInterface is the cluster of the proxy's own administration interface, which has no port.
func adminInterface() *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 adminCluster,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections:     wrapperspb.UInt32(readyMetrics),
			MaxPendingRequests: wrapperspb.UInt32(readyMetrics),
			MaxRequests:        wrapperspb.UInt32(readyMetrics),
		}}},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: adminCluster,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
					Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: AdminSocket}}},
				}},
			}}}},
		},
	}
}

func filter(name string, config proto.Message) (*hcmv3.HttpFilter, error) {
	packed, err := pack(config)
	if err != nil {
		return nil, err
	}
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed}}, nil
}
