package baseline_test

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gatewright/gatewright/test/bench/baseline"
)

const (
	scopes    = "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration"
	endpoints = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// proxy is the other end of a stream.
type proxy struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	t *testing.T
}

func connect(t *testing.T) (*baseline.Server, proxy) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := baseline.Start(t.Context(), listener)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	// No result depends on this time; it keeps a test from waiting forever.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return server, proxy{stream, t}
}

func (p proxy) ask(request *discoveryv3.DeltaDiscoveryRequest) {
	p.t.Helper()
	if err := p.Send(request); err != nil {
		p.t.Fatal(err)
	}
}

// receive returns the names of what came, and of what was removed.
func (p proxy) receive(want string) (names, removed []string) {
	p.t.Helper()
	response, err := p.Recv()
	if err != nil {
		p.t.Fatal(err)
	}
	if response.GetTypeUrl() != want {
		p.t.Errorf("told of %s, not of %s", response.GetTypeUrl(), want)
	}
	for _, r := range response.GetResources() {
		names = append(names, r.GetName())
	}
	slices.Sort(names)
	return names, response.GetRemovedResources()
}

func TestServer(t *testing.T) {
	t.Parallel()
	t.Run("who asks for all is told all, and each change alone", func(t *testing.T) {
		t.Parallel()
		server, proxy := connect(t)
		set(t, server, baseline.Scope("a.example.com", "c"), baseline.Scope("b.example.com", "c"))
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopes})
		if names, _ := proxy.receive(scopes); !slices.Equal(names, []string{"a.example.com", "b.example.com"}) {
			t.Errorf("told %q", names)
		}
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopes, ResponseNonce: "1"})
		set(t, server, baseline.Scope("c.example.com", "c"))
		if names, _ := proxy.receive(scopes); !slices.Equal(names, []string{"c.example.com"}) {
			t.Errorf("told %q", names)
		}
		if err := server.Remove(baseline.Scope("a.example.com", "c").Message, "a.example.com"); err != nil {
			t.Fatal(err)
		}
		if names, removed := proxy.receive(scopes); len(names) > 0 || !slices.Equal(removed, []string{"a.example.com"}) {
			t.Errorf("told %q, removed %q", names, removed)
		}
	})
	t.Run("who asks for some is told these", func(t *testing.T) {
		t.Parallel()
		server, proxy := connect(t)
		set(t, server, baseline.Endpoint("one", "198.18.16.1", 80), baseline.Endpoint("two", "198.18.16.2", 80))
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints, ResourceNamesSubscribe: []string{"two"}})
		if names, _ := proxy.receive(endpoints); !slices.Equal(names, []string{"two"}) {
			t.Errorf("told %q", names)
		}
	})
	t.Run("a NACK is remembered", func(t *testing.T) {
		t.Parallel()
		server, proxy := connect(t)
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopes})
		proxy.receive(scopes)
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopes, ResponseNonce: "1", ErrorDetail: &status.Status{Message: "no"}})
		// The next answer comes after the NACK was read.
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints, ResourceNamesSubscribe: []string{"x"}})
		proxy.receive(endpoints)
		if server.NACK() == nil {
			t.Error("the NACK is lost")
		}
	})
}

func set(t *testing.T, server *baseline.Server, resources ...baseline.Resource) {
	t.Helper()
	if err := server.Set(resources...); err != nil {
		t.Fatal(err)
	}
}

func TestConfigurations(t *testing.T) {
	t.Parallel()
	for name, configuration := range map[string]func() ([]byte, error){
		"with a control plane": func() ([]byte, error) { return baseline.Dynamic("198.18.0.1", 18000) },
		"written by hand": func() ([]byte, error) {
			return baseline.Static(baseline.Way{Host: "a.example.com", Backend: "198.18.16.1", BackendPort: 80})
		},
		"of the backend": baseline.Backend,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := configuration()
			if err != nil || !json.Valid(content) {
				t.Errorf("not JSON: %v\n%s", err, content)
			}
		})
	}
}
