//go:build translation

package translation

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	localv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	deltav3 "github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// hosts is how many virtual hosts the policy of a Gateway is in effect for.
const hosts = 10_000

// BenchmarkGatewayPolicy compares the ways to deliver a setting of a filter that all hosts of a Gateway share: in each virtual host, so
// many in a response, or once by ECDS. An edit ends when Envoy has acknowledged it.
func BenchmarkGatewayPolicy(b *testing.B) {
	for _, atOnce := range []int{hosts, 1000, 250, 125, 50} {
		b.Run(fmt.Sprintf("virtual-hosts/%d-in-a-response", atOnce), func(b *testing.B) {
			p := startPlane(b, filter.Chain(&ir.Port{}, &ir.Chain{}), scopes(0))
			p.measure(b, func(edit int) {
				all := scopes(edit)
				part := map[string]types.Resource{}
				for name, scope := range all {
					if part[name] = scope; len(part) == atOnce {
						p.send(b, resourcev3.ScopedRouteType, part)
						part = map[string]types.Resource{}
					}
				}
				if len(part) > 0 {
					p.send(b, resourcev3.ScopedRouteType, part)
				}
			})
		})
	}
	b.Run("ECDS", func(b *testing.B) {
		chain := filter.Chain(&ir.Port{}, &ir.Chain{})
		for _, f := range chain {
			if f.GetName() == filter.LocalRateLimit {
				f.ConfigType = &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
					ConfigSource: wire.ADS(), TypeUrls: []string{wire.Any(&localv3.LocalRateLimit{}).GetTypeUrl()},
				}}
			}
		}
		p := startPlane(b, chain, enabling())
		p.measure(b, func(edit int) { p.send(b, resourcev3.ExtensionConfigType, extension(edit)) })
	})
}

// policy is what the Gateway asks for.
func policy(edit int) *ir.RequestPolicy {
	return &ir.RequestPolicy{RateLimit: &ir.LocalRateLimit{Rules: []ir.RateRule{{
		Requests: uint32(1_000_000 + edit), Unit: time.Second, Headers: true, //nolint:gosec // a small number
	}}}}
}

func virtualHost(number int, policy *ir.RequestPolicy) *routev3.VirtualHost {
	vh, _ := route.VirtualHost(ir.VirtualHost{
		Domain: fmt.Sprintf("host-%d.example.com", number), Policy: policy,
		Rules: []ir.Rule{{Name: "rule", Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: svc("echo"), Weight: 1}}}}},
	})
	return vh
}

func scope(vh *routev3.VirtualHost) *routev3.ScopedRouteConfiguration {
	table := route.Table(ir.TableID{Gateway: "a/b"}, false)
	table.Name = vh.GetName()
	table.VirtualHosts = []*routev3.VirtualHost{vh}
	return &routev3.ScopedRouteConfiguration{
		Name: vh.GetName(), RouteConfiguration: table,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: vh.GetName()},
		}}},
	}
}

func scopes(edit int) map[string]types.Resource {
	all := make(map[string]types.Resource, hosts)
	shared := policy(edit)
	for i := range hosts {
		s := scope(virtualHost(i, shared))
		all[s.GetName()] = s
	}
	return all
}

// enabling are scopes that enable the filter, and leave its settings to the listener.
func enabling() map[string]types.Resource {
	all := make(map[string]types.Resource, hosts)
	for i := range hosts {
		vh := virtualHost(i, nil)
		vh.TypedPerFilterConfig = map[string]*anypb.Any{
			filter.LocalRateLimit: wire.Any(&routev3.FilterConfig{Config: &anypb.Any{}}),
		}
		s := scope(vh)
		all[s.GetName()] = s
	}
	return all
}

func extension(edit int) map[string]types.Resource {
	vh := virtualHost(0, policy(edit))
	return map[string]types.Resource{filter.LocalRateLimit: &corev3.TypedExtensionConfig{
		Name: filter.LocalRateLimit, TypedConfig: vh.GetTypedPerFilterConfig()[filter.LocalRateLimit],
	}}
}

// plane is a control plane of one Envoy.
type plane struct {
	caches  map[string]*cachev3.LinearCache
	address string
	process int
	// sent and answered count responses, and bytes is their size.
	sent, answered, bytes atomic.Int64
	refused               atomic.Value
}

func startPlane(b *testing.B, chain []*hcmv3.HttpFilter, scopes map[string]types.Resource) *plane {
	b.Helper()
	p := &plane{caches: map[string]*cachev3.LinearCache{
		resourcev3.ScopedRouteType:     cachev3.NewLinearCache(resourcev3.ScopedRouteType, cachev3.WithInitialResources(scopes)),
		resourcev3.ExtensionConfigType: cachev3.NewLinearCache(resourcev3.ExtensionConfigType, cachev3.WithInitialResources(extension(0))),
	}}
	mux := &cachev3.MuxCache{
		ClassifyDelta: func(r *cachev3.DeltaRequest) string { return r.GetTypeUrl() }, Caches: map[string]cachev3.Cache{},
	}
	for url, cache := range p.caches {
		mux.Caches[url] = cache
	}
	socket := filepath.Join(b.TempDir(), "xds.sock")
	listener, err := new(net.ListenConfig).Listen(b.Context(), "unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, &aggregated{plane: p, caches: mux})
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(server.Stop)
	backend := newBackend(b)
	p.address, p.process = startEnvoy(b, planeBootstrap(socket, backend, chain))
	p.settle(b)
	return p
}

// aggregated is the xDS server of a plane.
type aggregated struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	*plane
	caches cachev3.ConfigWatcher
}

// DeltaAggregatedResources implements ADS.
func (a *aggregated) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return deltav3.NewServer(stream.Context(), a.caches, a).DeltaStreamHandler(stream, resourcev3.AnyType)
}

// OnDeltaStreamOpen implements the callbacks of a stream, as the following do.
func (*aggregated) OnDeltaStreamOpen(context.Context, int64, string) error { return nil }

// OnDeltaStreamClosed does nothing.
func (*aggregated) OnDeltaStreamClosed(int64, *corev3.Node) {}

// OnStreamDeltaRequest counts answers.
func (a *aggregated) OnStreamDeltaRequest(_ int64, r *discoveryv3.DeltaDiscoveryRequest) error {
	if r.GetErrorDetail() != nil {
		a.refused.Store(r.GetErrorDetail().GetMessage())
	}
	if r.GetResponseNonce() != "" {
		a.answered.Add(1)
	}
	return nil
}

// OnStreamDeltaResponse counts responses.
func (a *aggregated) OnStreamDeltaResponse(_ int64, _ *discoveryv3.DeltaDiscoveryRequest, r *discoveryv3.DeltaDiscoveryResponse) {
	a.sent.Add(1)
	a.bytes.Add(int64(proto.Size(r)))
}

func newBackend(b *testing.B) net.Addr {
	b.Helper()
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: timeout}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return listener.Addr()
}

func planeBootstrap(socket string, backend net.Addr, chain []*hcmv3.HttpFilter) *bootstrapv3.Bootstrap {
	const xds = "xds"
	http2, err := anypb.New(&upstreamhttpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		},
	})
	if err != nil {
		panic(err) // a message without unusual values has a wire format
	}
	control := testCluster(xds, backend)
	control.TypedExtensionProtocolOptions = map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2}
	control.LoadAssignment.Endpoints[0].LbEndpoints[0].HostIdentifier = &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
		Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: socket}}},
	}}
	listener := testListener(nil, 0)
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "test", HttpFilters: chain,
		RouteSpecifier: &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
			Name: "scopes", RdsConfigSource: wire.ADS(), ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: wire.Scopes()},
			ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
				Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
					HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
						Name: ":authority", ElementSeparator: ":",
						ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0},
					},
				},
			}}},
		}},
	}
	listener.FilterChains[0].Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(manager)}
	return &bootstrapv3.Bootstrap{
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{AdsConfig: &corev3.ApiConfigSource{
			ApiType: corev3.ApiConfigSource_DELTA_GRPC, TransportApiVersion: corev3.ApiVersion_V3,
			GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
				EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: xds},
			}}},
		}},
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{
			Listeners: []*listenerv3.Listener{listener},
			Clusters:  []*clusterv3.Cluster{control, testCluster(svc("echo").String(), backend)},
		},
	}
}

// send changes resources, and returns when Envoy has acknowledged them.
func (p *plane) send(b *testing.B, url string, resources map[string]types.Resource) {
	b.Helper()
	before := p.sent.Load()
	if err := p.caches[url].UpdateResources(resources, nil); err != nil {
		b.Fatal(err)
	}
	for deadline := time.Now().Add(timeout); p.sent.Load() == before || p.answered.Load() < p.sent.Load(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			b.Fatal("Envoy does not acknowledge an edit")
		}
	}
	if refused := p.refused.Load(); refused != nil {
		b.Fatal(refused)
	}
}

// settle waits until Envoy has what it asks for at first.
func (p *plane) settle(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(timeout); p.ask(b.Context(), "host-1.example.com") != http.StatusOK; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("Envoy does not serve: %v", p.refused.Load())
		}
	}
}

// ask sends a request, and returns the status of the response, 0 for none.
func (p *plane) ask(ctx context.Context, host string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/", http.NoBody)
	if err != nil {
		return 0
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// measure times edits under requests.
func (p *plane) measure(b *testing.B, edit func(number int)) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var slowest time.Duration
	failed, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			start := time.Now()
			if status := p.ask(context.WithoutCancel(ctx), "host-7.example.com"); status != http.StatusOK {
				failed++
			}
			slowest = max(slowest, time.Since(start))
			time.Sleep(2 * time.Millisecond)
		}
	}()
	sent, size, cpu, n := p.sent.Load(), p.bytes.Load(), cpuTime(b, p.process), 0
	for b.Loop() {
		n++
		edit(n)
	}
	stop()
	<-ended
	per := func(total float64) float64 { return total / float64(n) }
	b.ReportMetric(per(float64(p.sent.Load()-sent)), "responses/op")
	b.ReportMetric(per(float64(p.bytes.Load()-size)/1024), "KiB/op")
	b.ReportMetric(per(float64((cpuTime(b, p.process) - cpu).Milliseconds())), "envoy-cpu-ms/op")
	b.ReportMetric(float64(slowest.Milliseconds()), "slowest-request-ms")
	b.ReportMetric(float64(failed), "failed-requests")
}

// cpuTime is how long a process has used a core, see proc_pid_stat(5).
func cpuTime(b *testing.B, process int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond
	return time.Duration(user+system) * tick
}
