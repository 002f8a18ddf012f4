//go:build translation

package translation

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	credentialinjectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// TestCredential: backends get the credential of a rule, mirrors do not.
func TestCredential(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]string{}
	serve := func(name string) net.Addr {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[name+r.URL.Path] = r.Header.Get("Authorization")
		}))
		t.Cleanup(server.Close)
		return server.Listener.Addr()
	}
	server := serve("backend")

	keep, overwrite := svc("echo").With("r0"), svc("echo").With("r1")
	failover := ir.Failover(svc("echo"), svc("other")).With("r2")
	settings := func(overwrite bool) *ir.DestinationSettings {
		return &ir.DestinationSettings{Credential: &ir.InjectedCredential{Secret: "a/token", Header: "authorization", Overwrite: overwrite}}
	}
	table := route.Table(ir.TableID{Gateway: "a/b"}, false)
	vh, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{
		sendTo("/keep", keep, ir.Mirror{Backend: svc("mirror"), Numerator: 100, Denominator: 100}),
		sendTo("/overwrite", overwrite), sendTo("/failover", failover),
	}})
	table.VirtualHosts = []*routev3.VirtualHost{vh}
	bootstrap := &bootstrapv3.Bootstrap{StaticResources: &bootstrapv3.Bootstrap_StaticResources{
		Listeners: []*listenerv3.Listener{testListener(table, 0)},
		Clusters: []*clusterv3.Cluster{
			testCluster(svc("mirror").String(), serve("mirror")),
			withCredential(t, keep, settings(false), server),
			withCredential(t, overwrite, settings(true), server),
			withCredential(t, failover, settings(false), nil),
		},
		Secrets: []*tlsv3.Secret{listener.Credential(ir.Credential{Name: ir.Injected.NameFor("a/token"), Value: "Bearer t"})},
	}}
	for _, member := range failover.Members() {
		bootstrap.StaticResources.Clusters = append(bootstrap.StaticResources.Clusters,
			withCredential(t, member, settings(false), server))
	}
	p := &proxy{address: runEnvoy(t, bootstrap)}

	own := map[string]string{"Authorization": "Basic own"}
	for _, c := range []struct {
		path    string
		headers map[string]string
		want    string
	}{
		{"/keep", nil, "Bearer t"},
		{"/keep/own", own, "Basic own"},
		{"/overwrite", own, "Bearer t"},
		{"/failover", nil, "Bearer t"},
	} {
		if status, err := p.send(t.Context(), asked{path: c.path, headers: c.headers}); status != http.StatusOK {
			t.Errorf("%s: %d, %v", c.path, status, err)
		}
		mu.Lock()
		if got := seen["backend"+c.path]; got != c.want {
			t.Errorf("%s: the backend sees %q, want %q", c.path, got, c.want)
		}
		mu.Unlock()
	}
	for start := time.Now(); time.Since(start) < timeout; time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		credential, mirrored := seen["mirror/keep"]
		mu.Unlock()
		if mirrored && credential != "" {
			t.Errorf("the mirror sees %q", credential)
		}
		if mirrored {
			return
		}
	}
	t.Errorf("no request is mirrored: %v", seen)
}

func sendTo(path string, backend ir.Backend, mirrors ...ir.Mirror) ir.Rule {
	return ir.Rule{
		Name: "HTTPRoute/a/b/0/0", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: path}},
		Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: backend, Weight: 1}}, Mirrors: mirrors},
	}
}

// withCredential is the cluster of a backend, with the secret of the bootstrap and an address instead of endpoints.
func withCredential(t *testing.T, backend ir.Backend, settings *ir.DestinationSettings, address net.Addr) *clusterv3.Cluster {
	t.Helper()
	c := cluster.Cluster(backend, cluster.Options{Policy: &ir.DestinationPolicy{Settings: settings}})
	for name, packed := range c.GetTypedExtensionProtocolOptions() {
		options, injector, generic := &upstreamhttpv3.HttpProtocolOptions{}, &credentialinjectorv3.CredentialInjector{}, &genericv3.Generic{}
		if err := packed.UnmarshalTo(options); err != nil {
			t.Fatal(err)
		}
		filter := options.GetHttpFilters()[0]
		if err := filter.GetTypedConfig().UnmarshalTo(injector); err != nil {
			t.Fatal(err)
		}
		if err := injector.GetCredential().GetTypedConfig().UnmarshalTo(generic); err != nil {
			t.Fatal(err)
		}
		generic.Credential.SdsConfig = nil
		injector.Credential.TypedConfig = wire.Any(generic)
		filter.ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(injector)}
		c.TypedExtensionProtocolOptions[name] = wire.Any(options)
	}
	if address != nil {
		static := testCluster(c.GetName(), address)
		c.ClusterDiscoveryType, c.LoadAssignment, c.EdsClusterConfig = static.GetClusterDiscoveryType(), static.GetLoadAssignment(), nil
	}
	return c
}
