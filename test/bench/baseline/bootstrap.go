package baseline

import (
	"net/http"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The ports that an Envoy started with one of these configurations listens on.
const (
	HTTPPort  = 8080
	HTTPSPort = 8443
)

// Dynamic is the configuration of an Envoy that a [Server] tells everything.
func Dynamic(address string, port uint32) ([]byte, error) {
	return protojson.Marshal(&bootstrapv3.Bootstrap{
		Node: &corev3.Node{Id: "bench", Cluster: "bench"},
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			AdsConfig: &corev3.ApiConfigSource{
				ApiType: corev3.ApiConfigSource_DELTA_GRPC, TransportApiVersion: corev3.ApiVersion_V3,
				GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
					EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: "ads"},
				}}},
			},
			LdsConfig: overADS(), CdsConfig: overADS(),
		},
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{{
			Name: "ads", ConnectTimeout: durationpb.New(connectTimeout),
			ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
			LoadAssignment:       assignment("ads", address, port),
			TypedExtensionProtocolOptions: map[string]*anypb.Any{
				"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": packed(&upstreamhttpv3.HttpProtocolOptions{
					UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
						ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
							ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{},
						},
					},
				}),
			},
		}}},
	})
}

// Way is what an Envoy with a configuration written by hand does: it sends a host to a backend, in clear and encrypted, and logs each
// request.
type Way struct {
	Host             string
	Backend          string
	BackendPort      uint32
	Certificate, Key []byte
}

// Static is the configuration of an Envoy without a control plane.
func Static(way Way) ([]byte, error) {
	proxy := func() *hcmv3.HttpConnectionManager {
		m := manager()
		m.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: table(way.Host, toCluster("backend"))}
		m.AccessLog = accessLog(logged)
		atTheEdge(m)
		return m
	}
	tls := &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		AlpnProtocols: []string{"h2", "http/1.1"},
		TlsCertificates: []*tlsv3.TlsCertificate{{
			CertificateChain: &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: way.Certificate}},
			PrivateKey:       &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: way.Key}},
		}},
	}}
	return protojson.Marshal(&bootstrapv3.Bootstrap{StaticResources: &bootstrapv3.Bootstrap_StaticResources{
		Listeners: []*listenerv3.Listener{listener(HTTPPort, proxy(), nil), listener(HTTPSPort, proxy(), tls)},
		Clusters: []*clusterv3.Cluster{{
			Name: "backend", ConnectTimeout: durationpb.New(connectTimeout),
			ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
			LoadAssignment:       assignment("backend", way.Backend, way.BackendPort),
		}},
	}})
}

// atTheEdge is what Envoy's own guide for proxies that face the internet says: trust no client, normalise, limit.
func atTheEdge(m *hcmv3.HttpConnectionManager) {
	m.UseRemoteAddress = wrapperspb.Bool(true)
	m.NormalizePath = wrapperspb.Bool(true)
	m.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(time.Hour)}
	m.Http2ProtocolOptions = &corev3.Http2ProtocolOptions{
		MaxConcurrentStreams:        wrapperspb.UInt32(100),
		InitialStreamWindowSize:     wrapperspb.UInt32(64 * 1024),
		InitialConnectionWindowSize: wrapperspb.UInt32(1024 * 1024),
	}
	m.StreamIdleTimeout = durationpb.New(5 * time.Minute)
	m.RequestHeadersTimeout = durationpb.New(10 * time.Second)
}

// logged is what an access log should have: when, who, what, with which result and how fast.
var logged = map[string]string{
	"time":             "%START_TIME%",
	"method":           "%REQ(:METHOD)%",
	"path":             "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
	"authority":        "%REQ(:AUTHORITY)%",
	"protocol":         "%PROTOCOL%",
	"status":           "%RESPONSE_CODE%",
	"details":          "%RESPONSE_CODE_DETAILS%",
	"response_flags":   "%RESPONSE_FLAGS%",
	"bytes_received":   "%BYTES_RECEIVED%",
	"bytes_sent":       "%BYTES_SENT%",
	"duration_ms":      "%DURATION%",
	"client":           "%DOWNSTREAM_REMOTE_ADDRESS%",
	"upstream_host":    "%UPSTREAM_HOST%",
	"upstream_cluster": "%UPSTREAM_CLUSTER%",
	"route":            "%ROUTE_NAME%",
	"request_id":       "%REQ(X-REQUEST-ID)%",

	"grpc_status":          "%GRPC_STATUS(SNAKE_STRING)%",
	"user_agent":           "%REQ(USER-AGENT)%",
	"x_forwarded_for":      "%REQ(X-FORWARDED-FOR)%",
	"server_name":          "%REQUESTED_SERVER_NAME%",
	"tls_version":          "%DOWNSTREAM_TLS_VERSION%",
	"upstream_duration_ms": "%COMMON_DURATION(US_TX_BEG:US_RX_BEG:ms)%",
	"upstream_failure":     "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
}

// answer is what the backend says.
const answer = "an answer of a hundred bytes, give or take, which is about as much as a health check or a small API says"

// Backend is the configuration of an Envoy that answers everything itself, which costs less than any other backend would.
func Backend() ([]byte, error) {
	m := manager()
	m.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: table("*", &routev3.Route{
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
			Status: http.StatusOK,
			Body:   &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: answer}},
		}},
	})}
	return protojson.Marshal(&bootstrapv3.Bootstrap{StaticResources: &bootstrapv3.Bootstrap_StaticResources{
		Listeners: []*listenerv3.Listener{listener(HTTPPort, m, nil)},
	}})
}
