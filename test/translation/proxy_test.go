//go:build translation

package translation

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// proxy is a live Envoy with some virtual hosts, and the requests that reach its backend.
type proxy struct {
	address string
	mu      sync.Mutex
	// reached are the headers of the last request that reached the backend, and count how many did.
	reached http.Header
	count   int
}

// seen are the headers of the last request that reached the backend, and how many did.
func (p *proxy) seen() (http.Header, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reached, p.count
}

// startProxy runs Envoy. All backends lead to servers of the test: servers by the name of the Service, any other to an echo server.
func startProxy(t *testing.T, host ir.VirtualHost, servers map[string]http.Handler) *proxy {
	t.Helper()
	p, bootstrap := newProxy(t, host, servers)
	p.address = runEnvoy(t, bootstrap)
	return p
}

// newProxy is [startProxy] before Envoy runs.
func newProxy(t *testing.T, host ir.VirtualHost, servers map[string]http.Handler) (*proxy, *bootstrapv3.Bootstrap) {
	t.Helper()
	p := &proxy{}
	echo := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reached = r.Header.Clone()
		p.count++
	})
	vh, invalid := route.VirtualHost(host)
	if len(invalid) > 0 {
		t.Fatalf("not valid: %v", invalid)
	}
	table := route.Table(ir.TableID{Gateway: "a/b"}, true)
	table.VirtualHosts = []*routev3.VirtualHost{vh}
	bootstrap := &bootstrapv3.Bootstrap{StaticResources: &bootstrapv3.Bootstrap_StaticResources{
		Listeners: []*listenerv3.Listener{testListener(table, len(host.Filters))},
	}}
	names := map[string]bool{}
	for _, b := range ir.NeedsOf(&host).Backends() {
		if names[b.String()] {
			continue
		}
		names[b.String()] = true
		handler := http.Handler(echo)
		if own, ok := servers[b.Object.Name]; ok {
			handler = own
		}
		server := httptest.NewUnstartedServer(handler)
		server.Config.Protocols = &http.Protocols{}
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		t.Cleanup(server.Close)
		cluster := testCluster(b.String(), server.Listener.Addr())
		if b.Protocol == ir.BackendHTTP2 {
			cluster.TypedExtensionProtocolOptions = http2Only()
		}
		bootstrap.StaticResources.Clusters = append(bootstrap.StaticResources.Clusters, cluster)
	}
	return p, bootstrap
}

// testListener has places for so many filters before a route is chosen.
func testListener(table *routev3.RouteConfiguration, places int) *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "test", HttpFilters: filter.Chain(&ir.Port{}, &ir.Chain{Extensions: true, Filters: places}),
		UseRemoteAddress: wrapperspb.Bool(true), NormalizePath: wrapperspb.Bool(true), MergeSlashes: false,
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: table},
	}
	return &listenerv3.Listener{
		Name: "test", Address: socketAddress("127.0.0.1", 0),
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{filter.CarryPlaces(places), {
			Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(manager)},
		}}}},
	}
}

func testCluster(name string, address net.Addr) *clusterv3.Cluster {
	host, number, _ := net.SplitHostPort(address.String())
	port, _ := strconv.Atoi(number)
	return &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{Address: socketAddress(host, port)},
			}}},
		}}},
	}
}

// http2Only has Envoy speak HTTP/2 to a cluster.
func http2Only() map[string]*anypb.Any {
	return map[string]*anypb.Any{
		"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": wire.Any(&upstreamhttpv3.HttpProtocolOptions{
			UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
				ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
					ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{},
				},
			},
		}),
	}
}

func socketAddress(host string, port int) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)}, //nolint:gosec // a port number
	}}}
}

// svc is a Service of that name.
func svc(name string) ir.Backend {
	return ir.Backend{Object: ir.Name{Namespace: "shop", Name: name}, Port: 80, Protocol: ir.BackendHTTP1}
}

// asked is a request of a test, and what has to come back.
type asked struct {
	name, method, path string
	headers            map[string]string
	want               int
	// seen are headers that the backend has to see, with an empty value for those that it must not.
	seen map[string]string
}

// check sends a request. One that is not answered 200 must not reach the backend.
func (p *proxy) check(t *testing.T, a asked) {
	t.Helper()
	_, before := p.seen()
	status, err := p.send(t.Context(), a)
	if err != nil || status != a.want {
		t.Errorf("%s: %d, %v, want %d", a.name, status, err, a.want)
	}
	headers, count := p.seen()
	if reached := count > before; reached != (status == http.StatusOK) {
		t.Errorf("%s: answered %d, and reached the backend: %t", a.name, status, reached)
	}
	for name, value := range a.seen {
		if got := headers.Get(name); status == http.StatusOK && got != value {
			t.Errorf("%s: the backend sees %s: %q, want %q", a.name, name, got, value)
		}
	}
}

// eventually sends a request until the answer is the wanted one.
func (p *proxy) eventually(t *testing.T, a asked) {
	t.Helper()
	for start := time.Now(); time.Since(start) < timeout; time.Sleep(100 * time.Millisecond) {
		if status, _ := p.send(t.Context(), a); status == a.want {
			return
		}
	}
	t.Errorf("%s: never %d", a.name, a.want)
}

func (p *proxy) send(ctx context.Context, a asked) (int, error) {
	method, path := a.method, a.path
	if method == "" {
		method = http.MethodGet
	}
	if path == "" {
		path = "/"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return 0, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	// The path goes out as it is written.
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n", method, path)
	for name, value := range a.headers {
		for one := range strings.SplitSeq(value, "\n") {
			text += name + ": " + one + "\r\n"
		}
	}
	if _, err := conn.Write([]byte(text + "\r\n")); err != nil {
		return 0, fmt.Errorf("send: %w", err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	status, err := strconv.Atoi(strings.Fields(string(answer[:n]))[1])
	return status, err
}
