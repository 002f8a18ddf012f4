//go:build translation

package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
	"github.com/gatewright/gatewright/test/simulation/model"
)

var record = flag.Bool("record", false, "store what the live Envoy sends as the recordings that the model is checked with")

// TestLiveEnvoy has a live Envoy go through changes and faults, and the model after it.
func TestLiveEnvoy(t *testing.T) {
	t.Parallel()
	if os.Getenv("ENVOY") == "" {
		t.Fatal("ENVOY is not set to the path of an Envoy; run make translation")
	}
	for _, anchored := range []bool{true, false} {
		t.Run(fmt.Sprintf("anchored=%t", anchored), func(t *testing.T) {
			t.Parallel()
			l := newLive(t, anchored)
			l.drive()
			records := l.taken()
			t.Logf("%d records", len(records))
			if err := model.Replay(records, replayed(anchored)); err != nil {
				t.Error(err)
			}
			if *record {
				var out bytes.Buffer
				if err := model.Write(&out, records); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(recording(anchored), out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// live is a replica that a live Envoy is connected to.
type live struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	t       *testing.T
	api     *apiServer
	replica *replica
	stamp   int

	mu      sync.Mutex
	start   time.Time
	records []model.Record
	cut     context.CancelFunc
}

func newLive(t *testing.T, anchored bool) *live {
	t.Helper()
	l := &live{t: t, start: time.Now(), replica: newReplica(t.Context(), "live", nil, nil)}
	l.api = &apiServer{objects: map[ref]runtimeclient.Object{}, notify: func(event) {}}
	l.api.put(store.GatewayClass, newClass())
	l.api.put(store.Namespace, newNamespace())
	l.api.put(store.Gateway, newGateway(0, 3))
	l.api.put(store.Secret, newSecret(0, 0))
	for n := range services {
		l.api.put(store.Service, newService(0, n))
		l.api.put(store.EndpointSlice, newEndpoints(0, n, 0))
	}
	l.replica.start(l.api.objects)
	l.api.notify = func(e event) { l.replica.observe(e) }
	directory := t.TempDir()
	socket := filepath.Join(directory, "xds.sock")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, l)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	l.launch(directory, l.bootstrap(socket, anchored))
	return l
}

// DeltaAggregatedResources serves the Envoy and records what is said.
func (l *live) DeltaAggregatedResources(s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	l.mu.Lock()
	l.cut = cancel
	l.mu.Unlock()
	l.note(model.Record{})
	return l.replica.newServer(0).ServeStream(xds.Identity{Group: groupOf(0), Pod: recordedPod}, tee{s, ctx, l})
}

func (l *live) note(r model.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.records) == 0 {
		l.start = time.Now()
	}
	r.At = time.Since(l.start)
	l.records = append(l.records, r)
}

func (l *live) taken() []model.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records)
}

// tee records what passes a stream.
type tee struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	ctx context.Context
	*live
}

// Context implements [grpc.ServerStream].
func (s tee) Context() context.Context { return s.ctx }

// Send implements the stream.
func (s tee) Send(r *response) error {
	recorded := proto.CloneOf(r)
	if recorded.GetTypeUrl() == resourcev3.SecretType {
		// Keys are not for recordings, and the model does not look at them.
		for _, secret := range recorded.GetResources() {
			secret.Resource = nil
		}
	}
	s.note(model.Record{Response: recorded})
	return s.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Send(r)
}

// Recv implements the stream.
func (s tee) Recv() (*request, error) {
	r, err := s.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Recv()
	if err == nil {
		s.note(model.Record{Request: proto.CloneOf(r)})
	}
	return r, err
}

// rest waits until nothing has been said for a while.
func (l *live) rest() {
	l.t.Helper()
	for quiet := 0; quiet < 30; quiet++ {
		before := len(l.taken())
		time.Sleep(20 * time.Millisecond)
		if l.replica.applyEndpoints() || len(l.taken()) != before {
			quiet = 0
		}
	}
}

func (l *live) route(i, backend int, spoil bool) {
	l.stamp++
	l.api.put(store.HTTPRoute, newRoute(i, backend, l.stamp, spoil))
}

// drive makes changes and faults, each of which Envoy has time for.
func (l *live) drive() {
	key := func(name string) string { return store.Key(namespace, name) }
	drained := func() { time.Sleep(recordedDrain + 500*time.Millisecond) }
	reconnect := func() {
		l.mu.Lock()
		l.cut()
		l.mu.Unlock()
	}
	for _, step := range []func(){
		func() { l.route(0, 0, false); l.route(1, 0, false) },
		func() { l.route(1, 1, false) },
		func() { l.route(2, 0, false); l.api.remove(store.HTTPRoute, key(routeName(1))) },
		// A certificate is gone for longer than Envoy drains.
		func() { l.api.remove(store.Secret, key(secretName(0))) }, drained,
		func() { l.api.put(store.Secret, newSecret(0, 1)) },
		// There is no listener for longer than Envoy drains.
		func() { l.api.put(store.Gateway, newGateway(0, 2)) },
		func() { l.api.remove(store.Secret, key(secretName(0))) }, drained,
		func() { l.route(1, 0, false) },
		func() { l.api.put(store.Secret, newSecret(0, 0)) }, drained,
		// Reconnecting, with and without changes meanwhile.
		reconnect,
		func() { reconnect(); l.route(2, 1, false); l.api.remove(store.HTTPRoute, key(routeName(0))) },
		func() { l.api.put(store.Gateway, newGateway(0, 1)) }, drained, reconnect,
		// Routes that Envoy refuses, alone and among others.
		func() { l.route(2, 1, true) },
		func() { l.route(0, 1, false); l.route(1, 0, true); l.route(3, 0, false) },
		reconnect,
		func() { l.route(1, 0, false); l.route(2, 0, false) },
		func() { l.api.remove(store.Service, key(serviceName(0, 0))) },
		func() {
			l.api.put(store.Service, newService(0, 0))
			l.api.put(store.EndpointSlice, newEndpoints(0, 0, 1))
		},
	} {
		step()
		l.rest()
	}
}

// bootstrap is that of a fleet's proxies, but for the way to the control plane, and for how large an expression may be.
func (l *live) bootstrap(socket string, anchored bool) *bootstrapv3.Bootstrap {
	l.t.Helper()
	gateway := ir.Gateway{Name: ir.Name{Namespace: namespace, Name: gateways[0]}, Fleet: ir.Fleet{
		Name: "live", UID: "live", Class: class, Delivery: ir.XDS,
	}}
	objects, err := render.Fleet(gateway, render.Settings{SystemNamespace: "gatewright-system"}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	b := &bootstrapv3.Bootstrap{}
	for _, o := range objects {
		if *o.GetKind() != "ConfigMap" {
			continue
		}
		text, err := json.Marshal(o)
		if err != nil {
			l.t.Fatal(err)
		}
		var files struct{ Data map[string]string }
		if err := json.Unmarshal(text, &files); err != nil {
			l.t.Fatal(err)
		}
		if err := protojson.Unmarshal([]byte(files.Data["bootstrap.json"]), b); err != nil {
			l.t.Fatal(err)
		}
	}
	if !anchored {
		b.Node.Metadata = nil
		b.StaticResources.Listeners = slices.DeleteFunc(b.GetStaticResources().GetListeners(), func(s *listenerv3.Listener) bool {
			return s.GetBindToPort() != nil && !s.GetBindToPort().GetValue()
		})
	}
	b.LayeredRuntime = &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
		Name: "static", LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: &structpb.Struct{Fields: map[string]*structpb.Value{
			"re2.max_program_size.error_level": structpb.NewNumberValue(model.MaxProgramSize),
		}}},
	}}}
	plain(l.t, b.GetStaticResources().GetClusters()[0], socket)
	return b
}

// plain has a cluster lead to a socket, without encryption.
func plain(t *testing.T, c *clusterv3.Cluster, socket string) {
	t.Helper()
	protocol, err := anypb.New(&upstreamhttpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol}
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	c.TransportSocket = nil
	c.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: c.GetName(), Endpoints: []*endpointv3.LocalityLbEndpoints{{
		LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: socket}}},
		}}}},
	}}}
}

// launch starts Envoy in a network of its own, which needs root.
func (l *live) launch(directory string, b *bootstrapv3.Bootstrap) {
	l.t.Helper()
	b.Admin.Address = &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: filepath.Join(directory, "admin.sock")}}}
	b.OverloadManager, b.StatsConfig = nil, nil
	text, err := protojson.Marshal(b)
	if err != nil {
		l.t.Fatal(err)
	}
	config := filepath.Join(directory, "bootstrap.json")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		l.t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(directory, "envoy.log"))
	if err != nil {
		l.t.Fatal(err)
	}
	//nolint:gosec // the path of the binary is what the user of the test chooses
	process := exec.Command(os.Getenv("ENVOY"), "--config-path", config, "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warn",
		"--drain-time-s", fmt.Sprint(recordedDrain.Seconds()), "--parent-shutdown-time-s", "10", "--service-node", recordedPod)
	process.Stdout, process.Stderr = output, output
	process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		l.t.Fatalf("start Envoy in a network of its own, which needs root: %v", err)
	}
	l.t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
		_ = output.Close()
		if l.t.Failed() {
			words, _ := os.ReadFile(output.Name())
			l.t.Logf("%s", words[max(0, len(words)-4000):])
		}
	})
}
