package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/extension/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/gatewright/gatewright/internal/pki"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	deltaCall  = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	serverName = "gatewright-xds.gatewright-system.svc"
	// timeout keeps a test from waiting forever. No result depends on it.
	timeout = 2 * time.Minute
)

// calls are every call of every service that Envoy's API has for those who are configured.
func calls() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				if strings.HasPrefix(string(service.FullName()), "envoy.service.") {
					method := service.Methods().Get(j)
					all["/"+string(service.FullName())+"/"+string(method.Name())] = method
				}
			}
		}
		return true
	})
	return all
}

type fixed struct{ authority *pki.Authority }

func (f fixed) Authority() *pki.Authority { return f.authority }

// serve runs an xDS server that holds a cluster of shop/edge, and gives what connects to it. Each caller has a connection of its own: a
// connection may be closed for what one caller did. The network is in memory, so that it can be used in a bubble of synctest.
func serve(t *testing.T, verifier *Verifier) func(*testing.T) *grpc.ClientConn {
	t.Helper()
	lives := pki.DefaultLifetimes()
	authority, _, err := pki.Advance(nil, lives, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cache := xds.NewCache()
	secret, err := xds.NewResource(&clusterv3.Cluster{Name: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	cache.Apply([]xds.Change{{Group: xds.GroupID{Namespace: "shop", Name: "edge"}, Type: xds.Cluster, Name: "hush", Resource: secret}})
	cache.Open()
	listener := bufconn.Listen(64 << 10)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	server := xds.NewServer(cache, verifier, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), nil)
	go func() {
		done <- server.Serve(ctx, listener, pki.ServerTLS(fixed{authority}, lives, time.Now, serverName))
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Bundle())
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(t *testing.T) *grpc.ClientConn {
		t.Helper()
		connection, err := grpc.NewClient("passthrough:///memory",
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
			grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: serverName})))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		return connection
	}
}

// call sends requests, each when the one before was answered, and gives the number of answers and how the call ended.
func call(
	t *testing.T, connection *grpc.ClientConn, name string, method protoreflect.MethodDescriptor, token string, nodes ...*corev3.Node,
) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", token)
	}
	stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name)
	if err != nil {
		return 0, err
	}
	for i, node := range nodes {
		request, err := proto.Marshal(
			&discoveryv3.DeltaDiscoveryRequest{Node: node, TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster"},
		)
		if err != nil {
			t.Fatal(err)
		}
		message := dynamicpb.NewMessage(method.Input())
		if name == deltaCall {
			err = proto.Unmarshal(request, message)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SendMsg(message); err != nil && !errors.Is(err, io.EOF) {
			return i, err
		}
		if name != deltaCall {
			_ = stream.CloseSend() // some take one request only
		}
		if err := stream.RecvMsg(dynamicpb.NewMessage(method.Output())); err != nil {
			return i, err
		}
	}
	return len(nodes), nil
}

// TestEveryCallIsAuthorised makes every call there is with every wrong identity there is; none is answered.
func TestEveryCallIsAuthorised(t *testing.T) {
	t.Parallel()
	verifier, api := newVerifier()
	connect := serve(t, verifier)
	proxy, hour := Review{Account: edge, Pod: "edge-1"}, time.Now().Add(time.Hour)
	// Each has a pod of its own, since the streams of one are limited.
	as := func(pod string) string { return "Bearer " + api.good(edge, pod) }
	right := &corev3.Node{Id: "edge-1", Cluster: "shop/edge"}
	tests := []struct {
		name     string
		token    string
		nodes    []*corev3.Node
		want     codes.Code
		answered int
	}{
		{"no token", "", []*corev3.Node{right}, codes.Unauthenticated, 0},
		{"a password", "Basic aGk6aG8=", []*corev3.Node{right}, codes.Unauthenticated, 0},
		{"a foreign token", "Bearer " + api.good(edge, "x") + "foreign", []*corev3.Node{right}, codes.Unauthenticated, 0},
		{
			"an expired token", "Bearer " + api.token(proxy, time.Now().Add(-time.Minute), `["`+audience+`"]`),
			[]*corev3.Node{right},
			codes.Unauthenticated, 0,
		},
		{"a token for another audience", "Bearer " + api.token(proxy, hour, `["api"]`), []*corev3.Node{right}, codes.Unauthenticated, 0},
		{
			"a token of another ServiceAccount", "Bearer " + api.good(ServiceAccount{"shop", "default"}, "edge-1"),
			[]*corev3.Node{right},
			codes.PermissionDenied, 0,
		},
		{"a token of a peer", "Bearer " + api.good(system, "gatewright-1"), []*corev3.Node{right}, codes.PermissionDenied, 0},
		{"another node id", as("edge-3"), []*corev3.Node{{Id: "edge-2", Cluster: "shop/edge"}}, codes.PermissionDenied, 0},
		{"another node cluster", as("edge-4"), []*corev3.Node{{Id: "edge-4", Cluster: "shop/other"}}, codes.PermissionDenied, 0},
		{"a node that says nothing", as("edge-5"), []*corev3.Node{{}}, codes.PermissionDenied, 0},
		{
			"a node that changes", as("edge-6"),
			[]*corev3.Node{{Id: "edge-6", Cluster: "shop/edge"}, {Id: "edge-2", Cluster: "shop/edge"}},
			codes.PermissionDenied, 1,
		},
		{"a node that moves", as("edge-7"), []*corev3.Node{nil, {Id: "edge-7", Cluster: "shop/other"}}, codes.PermissionDenied, 1},
	}
	all := calls()
	if len(all) < 20 || all[deltaCall] == nil {
		t.Fatalf("only %d calls are known", len(all))
	}
	for name, method := range all {
		for _, test := range tests {
			t.Run(name+" with "+test.name, func(t *testing.T) {
				t.Parallel()
				answered, err := call(t, connect(t), name, method, test.token, test.nodes...)
				got := status.Code(err)
				switch {
				case name == deltaCall && (got != test.want || answered != test.answered):
					t.Errorf("%d answers, then %v; want %d, then %s", answered, err, test.answered, test.want)
				case name != deltaCall && (answered > 0 || got != codes.Unimplemented && got != codes.Unauthenticated && got != codes.PermissionDenied):
					t.Errorf("%d answers, then %v; want to be refused", answered, err)
				}
			})
		}
	}
	t.Run("and the right one is served", func(t *testing.T) {
		t.Parallel()
		if answered, err := call(t, connect(t), deltaCall, all[deltaCall], as("edge-1"), right); answered != 1 || err != nil {
			t.Errorf("%d answers, %v", answered, err)
		}
	})
}

func TestAStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		verifier, api := newVerifier()
		connection := serve(t, verifier)(t)
		began := time.Now()
		token := api.token(Review{Account: edge, Pod: "edge-1"}, began.Add(time.Hour), `["`+audience+`"]`)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster"}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "connect again") {
			t.Errorf("the stream ended with %v", err)
		}
		if after := time.Since(began); after < 48*time.Minute || after > time.Hour {
			t.Errorf("the stream ended after %s, want the last fifth of an hour", after)
		}
	})
}

func TestAReplicaThatCannotReviewATokenClosesTheConnection(t *testing.T) {
	t.Parallel()
	verifier, api := newVerifier()
	connection := serve(t, verifier)(t)
	api.fail(errors.New("no route to host"))
	if _, err := call(
		t, connection, deltaCall, calls()[deltaCall], "Bearer "+api.good(edge, "edge-1"), nil,
	); status.Code(err) != codes.Unavailable {
		t.Errorf("the call ended with %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if !connection.WaitForStateChange(ctx, connectivity.Ready) {
		t.Error("the connection stayed, and with it the proxy")
	}
}
