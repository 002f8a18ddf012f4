//go:build translation

package translation

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/test/modelreader"
)

// grpcModel is a model server that speaks gRPC. It names itself in the trailers of its answers, of errors too.
func grpcModel(t *testing.T, name string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(
		func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			_ = grpc.SetTrailer(ctx, metadata.Pairs("x-served-by", name))
			return handle(ctx, request)
		},
	))
	healthv1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// TestPickedGRPC: calls go where the picker says, and trailers pass it, with an answer and with an error.
func TestPickedGRPC(t *testing.T) {
	t.Parallel()
	one, two := grpcModel(t, "one"), grpcModel(t, "two")
	p := &inferencePool{name: "pool", servers: []string{one, two}, h2c: true}
	p.picker = newPicker(t, "picker", func(http.Header) choice { return both(two) })
	rule := toPools("/", p)
	rule.Name, rule.Match.GRPC, rule.Policy = "GRPCRoute/a/b/0/0", true, nil
	address := serveHost(t, ir.VirtualHost{Domain: "*", Rules: []ir.Rule{rule}}, p.clusters()...)
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	client := healthv1.NewHealthClient(connection)
	const calls = 20
	for i := range calls {
		service, want := "", codes.OK
		if i%2 == 1 {
			service, want = "unknown", codes.NotFound
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		var trailer metadata.MD
		response, err := client.Check(ctx, &healthv1.HealthCheckRequest{Service: service}, grpc.Trailer(&trailer))
		cancel()
		if status.Code(err) != want || want == codes.OK && response.GetStatus() != healthv1.HealthCheckResponse_SERVING ||
			strings.Join(trailer.Get("x-served-by"), "") != "two" {
			t.Fatalf("call %d: %v, %v, trailers %v", i, response, err, trailer)
		}
	}
	if asked, served, _ := p.picker.seen(); asked != calls || len(served) != calls || served[0] != two {
		t.Errorf("the picker was asked %d times, and told of %v", asked, served)
	}
}

// TestAModelReaderBeforePickers: a server of the listener reads the whole body and chooses the route by it. Then the picker of the pool of
// that route gets the same body as a stream.
func TestAModelReaderBeforePickers(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, models := grpc.NewServer(), &modelreader.Server{}
	extprocv3.RegisterExternalProcessorServer(server, models)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	host := ir.VirtualHost{Domain: "*", Filters: []ir.ListenerFilter{{ExtProc: &ir.ExtProc{
		Backend: reader("reader"), Timeout: new(10 * time.Second), Request: &ir.ExtProcMessage{Body: ir.BodyBuffered},
	}}}}
	clusters := []*clusterv3.Cluster{at(cluster.Cluster(reader("reader"), cluster.Options{}), listener.Addr().String())}
	pools := map[string]*inferencePool{}
	for _, name := range []string{"a", "b"} {
		chosen, _ := model(t, name)
		other, _ := model(t, "not chosen")
		p := &inferencePool{name: name, servers: []string{other, chosen}}
		p.picker = newPicker(t, name, func(http.Header) choice { return both(chosen) })
		rule := toPools("/", p)
		rule.Name = "HTTPRoute/a/" + name + "/0/0"
		rule.Match.Headers = []ir.NamedMatch{{Name: modelreader.Header, StringMatch: ir.StringMatch{Value: name}}}
		host.Rules = append(host.Rules, rule)
		clusters = append(clusters, p.clusters()...)
		pools[name] = p
	}
	address := serveHost(t, host, clusters...)
	for range 10 {
		for name, body := range map[string]string{"a": modelA, "b": modelB + strings.Repeat(" ", 20<<10)} {
			r, err := prompt(t, "http://"+address, []byte(body), modelreader.Header, "forged")
			if err != nil || r.header.Get("x-model") != name || r.header.Get("x-picker") != name || r.body != answerTo(body) {
				t.Fatalf("model %s: %+v, %v", name, r, err)
			}
			if _, _, got := pools[name].picker.seen(); got != len(body) {
				t.Fatalf("the picker of %s saw %d bytes of %d", name, got, len(body))
			}
		}
	}
	if r, err := prompt(t, "http://"+address, []byte(`{"model":"c"}`)); err != nil || r.status != http.StatusNotFound {
		t.Errorf("a model without a pool: %+v, %v", r, err)
	}
}
