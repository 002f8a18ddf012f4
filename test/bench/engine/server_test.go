package engine_test

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

	"github.com/gatewright/gatewright/test/bench/engine"
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

func connect(t *testing.T) (*engine.Server, proxy) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := engine.Start(t.Context(), listener)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
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

// told returns the names of what came, and of what was removed.
func (p proxy) told(want string) (names, removed []string) {
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
		set(t, server, engine.Scope("a.example.com", "c"), engine.Scope("b.example.com", "c"))
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopes})
		if names, _ := proxy.told(scopes); !slices.Equal(names, []string{"a.example.com", "b.example.com"}) {
			t.Errorf("told %q", names)
		}
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopes, ResponseNonce: "1"})
		set(t, server, engine.Scope("c.example.com", "c"))
		if names, _ := proxy.told(scopes); !slices.Equal(names, []string{"c.example.com"}) {
			t.Errorf("told %q", names)
		}
		if err := server.Remove(engine.Scope("a.example.com", "c").Message, "a.example.com"); err != nil {
			t.Fatal(err)
		}
		if names, removed := proxy.told(scopes); len(names) > 0 || !slices.Equal(removed, []string{"a.example.com"}) {
			t.Errorf("told %q, removed %q", names, removed)
		}
	})
	t.Run("who asks for some is told these", func(t *testing.T) {
		t.Parallel()
		server, proxy := connect(t)
		set(t, server, engine.Endpoint("one", "198.18.16.1", 80), engine.Endpoint("two", "198.18.16.2", 80))
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints, ResourceNamesSubscribe: []string{"two"}})
		if names, _ := proxy.told(endpoints); !slices.Equal(names, []string{"two"}) {
			t.Errorf("told %q", names)
		}
	})
	t.Run("a refusal is remembered", func(t *testing.T) {
		t.Parallel()
		server, proxy := connect(t)
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopes})
		proxy.told(scopes)
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopes, ResponseNonce: "1", ErrorDetail: &status.Status{Message: "no"}})
		// The next answer comes after the refusal was read.
		proxy.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints, ResourceNamesSubscribe: []string{"x"}})
		proxy.told(endpoints)
		if server.Refusal() == nil {
			t.Error("the refusal is lost")
		}
	})
}

func set(t *testing.T, server *engine.Server, resources ...engine.Resource) {
	t.Helper()
	if err := server.Set(resources...); err != nil {
		t.Fatal(err)
	}
}

func TestConfigurations(t *testing.T) {
	t.Parallel()
	for name, configuration := range map[string]func() ([]byte, error){
		"with a control plane": func() ([]byte, error) { return engine.Dynamic("198.18.0.1", 18000) },
		"written by hand": func() ([]byte, error) {
			return engine.Static(engine.Way{Host: "a.example.com", Backend: "198.18.16.1", BackendPort: 80})
		},
		"of the backend": engine.Backend,
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
