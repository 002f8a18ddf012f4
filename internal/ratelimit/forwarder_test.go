package ratelimit_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/pki"
	"github.com/gatewright/gatewright/internal/ratelimit"
	"github.com/gatewright/gatewright/internal/xds"
)

// tokens has the group of each token.
type tokens map[string]xds.GroupID

func (t tokens) Authenticate(_ context.Context, token string) (xds.Proof, error) {
	group, ok := t[token]
	if !ok {
		return xds.Proof{}, status.Error(codes.Unauthenticated, "the token is not known")
	}
	return xds.Proof{Identity: xds.Identity{Group: group, Pod: "p"}, Expires: time.Now().Add(time.Hour)}, nil
}

type fixed struct{ authority *pki.Authority }

func (f fixed) Authority() *pki.Authority { return f.authority }

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// serve runs an xDS server, and returns its address and its authorities.
func serve(t *testing.T, callers tokens, limits *ratelimit.Server) (address string, bundle []byte) {
	t.Helper()
	lives := pki.DefaultLifetimes()
	authority, _, err := pki.Advance(nil, lives, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cache := xds.NewCache()
	cache.Open()
	server := xds.NewServer(cache, callers, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), nil)
	server.ServeRateLimits(xds.GroupID(ir.RateLimitService), limits.Serve)
	listener := listen(t)
	go func() {
		_ = server.Serve(t.Context(), listener, pki.ServerTLS(fixed{authority}, lives, time.Now, "localhost"))
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("localhost", port), authority.Bundle()
}

// TestForwarder: a service that knows neither TLS nor tokens gets its configuration through a forwarder, with the token that is in the file
// at the time of the call. Callers with other identities get none.
func TestForwarder(t *testing.T) {
	t.Parallel()
	limits := ratelimit.NewServer(slog.New(slog.DiscardHandler), &journal{})
	state := limits.Apply([]*ir.GlobalRateLimit{policy("a", rule("r", 1, true))})
	address, bundle := serve(t, tokens{"good": xds.GroupID(ir.RateLimitService), "proxy": {Namespace: "shop", Name: "web"}}, limits)
	directory := t.TempDir()
	f := &ratelimit.Forwarder{
		Server: address, BundleFile: filepath.Join(directory, "ca.crt"), TokenFile: filepath.Join(directory, "token"),
		Log: slog.New(slog.DiscardHandler),
	}
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(f.BundleFile, string(bundle))
	listener := listen(t)
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- f.Run(ctx, listener) }()
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	// No result depends on this time; it keeps the test from waiting forever.
	within, end := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(end)
	receive := func() (*discoveryv3.DiscoveryResponse, error) {
		stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).StreamAggregatedResources(within)
		if err != nil {
			t.Fatal(err)
		}
		// A stream that has ended says so to Send by EOF, and why to Recv.
		if err := stream.Send(request("")); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return stream.Recv()
	}
	for _, c := range []struct {
		token string
		want  codes.Code
	}{{"", codes.Unavailable}, {"bad", codes.Unauthenticated}, {"proxy", codes.Unimplemented}, {"good", codes.OK}} {
		if c.token != "" {
			write(f.TokenFile, c.token+"\n")
		}
		response, err := receive()
		if status.Code(err) != c.want {
			t.Errorf("with the token %q: %v, want %s", c.token, err, c.want)
		}
		if c.want == codes.OK && response.GetVersionInfo() != state {
			t.Errorf("the version is %s, want %s", response.GetVersionInfo(), state)
		}
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-within.Done():
		t.Error("the forwarder goes on")
	}
}
