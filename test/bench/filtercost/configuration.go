package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	injectedv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/injected_resource/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/translate/wire"
	"github.com/gatewright/gatewright/test/bench/baseline"
)

const host, wildcard = "fast.example.com", "*.example.com"

// configuration is all that an Envoy is told. What comes over a stream on a cluster is in the bootstrap here, and scopes are in a file.
type configuration struct {
	bootstrap *bootstrapv3.Bootstrap
	scopes    []*routev3.ScopedRouteConfiguration
}

// keyPair is what the proxies prove who they are with.
type keyPair struct{ certificate, key []byte }

// ours is what a Gateway with one route on a port in clear and on one with TLS becomes. The route has a policy, or nil.
func ours(backend int, domain string, keys keyPair, policy *ir.RequestPolicy) (*configuration, error) {
	gateway := ir.Gateway{Name: ir.Name{Namespace: "bench", Name: "gateway"}, Fleet: ir.Fleet{
		Name: "gateway", UID: "bench", Class: "gatewright",
	}, Ports: []ir.Port{
		{Number: 80, Protocol: ir.HTTP, Chains: []ir.Chain{{Name: "http", RouteTable: ir.ParseTableID("bench/gateway/80"), ByHost: true}}},
		{Number: 443, Protocol: ir.HTTPS, Chains: []ir.Chain{{
			Name: "https", RouteTable: ir.ParseTableID("bench/gateway/443"), ByHost: true, Certificates: []string{"bench/fast"},
		}}},
	}}
	bootstrap, err := bootstrapOf(gateway)
	if err != nil {
		return nil, err
	}
	to := ir.Backend{Object: ir.Name{Namespace: "bench", Name: "backend"}, Port: 80, Protocol: ir.BackendHTTP1}
	c := &configuration{bootstrap: bootstrap}
	static := bootstrap.GetStaticResources()
	for _, port := range gateway.Ports {
		static.Listeners = append(static.Listeners, listener.Listener(gateway.Name, port, nil))
		vh := ir.VirtualHost{Table: port.Chains[0].RouteTable, Domain: domain, Rules: []ir.Rule{{
			Name:    "HTTPRoute/bench/fast/0/0",
			Match:   ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}},
			Policy:  policy,
			Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: to, Weight: 1}}},
		}}}
		if port.Protocol == ir.HTTPS {
			vh.Chain = port.Chains[0].Name
		}
		c.scopes = append(c.scopes, scope(vh))
	}
	way := cluster.Cluster(to, cluster.Options{})
	way.ClusterDiscoveryType, way.EdsClusterConfig = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, nil
	way.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: to.String(), Endpoints: []*endpointv3.LocalityLbEndpoints{{
		LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: local(backend),
		}}}},
	}}}
	static.Clusters = append(static.Clusters, way)
	c.eachTLS(func(tls *tlsv3.DownstreamTlsContext) {
		tls.CommonTlsContext.TlsCertificateSdsSecretConfigs = nil
		tls.CommonTlsContext.TlsCertificates = []*tlsv3.TlsCertificate{listener.Secret(ir.Certificate{
			CertificatePEM: keys.certificate, PrivateKeyPEM: keys.key,
		}).GetTlsCertificate()}
	})
	return c, nil
}

// scope is how a virtual host travels.
func scope(vh ir.VirtualHost) *routev3.ScopedRouteConfiguration {
	translated, _ := route.VirtualHost(vh)
	// What is translated shares some values, and these will be changed.
	table := proto.CloneOf(route.Table(vh.Table, false))
	table.VirtualHosts = []*routev3.VirtualHost{proto.CloneOf(translated)}
	key := vh.Table.Host(vh.Domain).String()
	if strings.HasPrefix(vh.Domain, "*") {
		key = vh.Table.Host("*").String()
	}
	return &routev3.ScopedRouteConfiguration{
		Name: key,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: key},
		}}},
		RouteConfiguration: table,
	}
}

// bootstrapOf is what the proxies of a Gateway start with, but for the way to a control plane and to what is beside a proxy in its pod.
func bootstrapOf(gateway ir.Gateway) (*bootstrapv3.Bootstrap, error) {
	objects, err := render.Fleet(gateway, render.Settings{SystemNamespace: "gatewright-system", Helper: "gatewright"}, nil)
	if err != nil {
		return nil, fmt.Errorf("render the fleet: %w", err)
	}
	for _, o := range objects {
		if *o.GetKind() != "ConfigMap" {
			continue
		}
		text, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("read the fleet: %w", err)
		}
		var files struct{ Data map[string]string }
		if err := json.Unmarshal(text, &files); err != nil {
			return nil, fmt.Errorf("read the fleet: %w", err)
		}
		b := &bootstrapv3.Bootstrap{}
		if err := protojson.Unmarshal([]byte(files.Data["bootstrap.json"]), b); err != nil {
			return nil, fmt.Errorf("read the bootstrap: %w", err)
		}
		b.DynamicResources, b.Admin, b.StaticResources = nil, nil, &bootstrapv3.Bootstrap_StaticResources{}
		return b, nil
	}
	return nil, errors.New("the fleet has no bootstrap")
}

// bare is the configuration written by hand.
func bare(backend int, keys keyPair) (*configuration, error) {
	text, err := baseline.Static(baseline.Way{
		Host: host, Backend: loopback, BackendPort: uint32(backend), //nolint:gosec // a TCP port
		Certificate: keys.certificate, Key: keys.key,
	})
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return read(text)
}

func read(text []byte) (*configuration, error) {
	c := &configuration{bootstrap: &bootstrapv3.Bootstrap{}}
	if err := protojson.Unmarshal(text, c.bootstrap); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return c, nil
}

// write puts the configuration into a directory, for an Envoy that listens on these ports.
func (c *configuration) write(directory string, ports []int) (path string, err error) {
	for i, l := range c.bootstrap.GetStaticResources().GetListeners() {
		l.Address = local(ports[i])
	}
	// What a proxy does from time to time would count for more the longer it is looked at.
	patient := &bootstrapv3.Watchdog{MissTimeout: durationpb.New(time.Hour), MegamissTimeout: durationpb.New(time.Hour)}
	c.bootstrap.Watchdogs = &bootstrapv3.Watchdogs{MainThreadWatchdog: patient, WorkerWatchdog: patient}
	c.bootstrap.StatsFlushInterval = durationpb.New(4 * time.Minute)
	files := map[string]any{"pressure": "0"}
	response := &discoveryv3.DiscoveryResponse{VersionInfo: "1"}
	for _, s := range c.scopes {
		response.Resources = append(response.Resources, wire.Any(s))
	}
	files["scopes.json"] = response
	from := func(name string) *corev3.ConfigSource {
		return &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: filepath.Join(directory, name)},
		}}
	}
	c.eachManager(func(m *hcmv3.HttpConnectionManager) {
		if scoped := m.GetScopedRoutes(); scoped != nil {
			scoped.RdsConfigSource = from("scopes.json")
			scoped.GetScopedRds().ScopedRdsConfigSource = from("scopes.json")
		}
	})
	for _, m := range c.bootstrap.GetOverloadManager().GetResourceMonitors() {
		if m.GetName() == "envoy.resource_monitors.injected_resource" {
			m.GetTypedConfig().Value = wire.Any(&injectedv3.InjectedResourceConfig{Filename: filepath.Join(directory, "pressure")}).GetValue()
		}
	}
	files["envoy.json"] = c.bootstrap
	for name, content := range files {
		var text []byte
		switch content := content.(type) {
		case string:
			text = []byte(content)
		case *discoveryv3.DiscoveryResponse:
			text, err = protojson.Marshal(content)
		case *bootstrapv3.Bootstrap:
			text, err = protojson.Marshal(content)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, name), text, 0o600)
		}
		if err != nil {
			return "", fmt.Errorf("write %s: %w", name, err)
		}
	}
	return filepath.Join(directory, "envoy.json"), nil
}

const loopback = "127.0.0.1"

func local(port int) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: loopback, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)}, //nolint:gosec // a TCP port
	}}}
}

// eachListener, and those below, change what there is of a kind. What they unpack was packed here, so it can be.
func (c *configuration) eachListener(change func(*listenerv3.Listener)) {
	for _, l := range c.bootstrap.GetStaticResources().GetListeners() {
		change(l)
	}
}

func (c *configuration) eachCluster(change func(*clusterv3.Cluster)) {
	for _, cluster := range c.bootstrap.GetStaticResources().GetClusters() {
		change(cluster)
	}
}

func (c *configuration) eachChain(change func(*listenerv3.FilterChain)) {
	c.eachListener(func(l *listenerv3.Listener) {
		for _, chain := range l.GetFilterChains() {
			change(chain)
		}
	})
}

func (c *configuration) eachManager(change func(*hcmv3.HttpConnectionManager)) {
	c.eachChain(func(chain *listenerv3.FilterChain) {
		last := chain.GetFilters()[len(chain.GetFilters())-1]
		m := unpacked(last.GetTypedConfig(), &hcmv3.HttpConnectionManager{})
		change(m)
		last.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(m)}
	})
}

func (c *configuration) eachTLS(change func(*tlsv3.DownstreamTlsContext)) {
	c.eachChain(func(chain *listenerv3.FilterChain) {
		if chain.GetTransportSocket() == nil {
			return
		}
		tls := unpacked(chain.GetTransportSocket().GetTypedConfig(), &tlsv3.DownstreamTlsContext{})
		change(tls)
		chain.GetTransportSocket().ConfigType = &corev3.TransportSocket_TypedConfig{TypedConfig: wire.Any(tls)}
	})
}

// eachTable is a route table, wherever it is.
func (c *configuration) eachTable(change func(*routev3.RouteConfiguration)) {
	for _, s := range c.scopes {
		change(s.GetRouteConfiguration())
	}
	c.eachManager(func(m *hcmv3.HttpConnectionManager) {
		if table := m.GetRouteConfig(); table != nil {
			change(table)
		}
	})
}

func unpacked[M proto.Message](packed *anypb.Any, into M) M {
	if err := packed.UnmarshalTo(into); err != nil {
		panic(err)
	}
	return into
}

// eachRoute is a route, in whichever form a virtual host has it.
func (c *configuration) eachRoute(change func(*routev3.Route)) {
	c.eachTable(func(t *routev3.RouteConfiguration) {
		for _, vh := range t.GetVirtualHosts() {
			for _, r := range vh.GetRoutes() {
				change(r)
			}
			for _, action := range vh.GetMatcher().GetMatcherTree().GetExactMatchMap().GetMap() {
				list := unpacked(action.GetAction().GetTypedConfig(), &routev3.RouteList{})
				for _, r := range list.GetRoutes() {
					change(r)
				}
				action.GetAction().TypedConfig = wire.Any(list)
			}
		}
	})
}
