package model

import (
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// Routes carry their generation in a response header. A route that matches RefusedPath is refused, by the model and by an Envoy whose
// re2.max_program_size.error_level is MaxProgramSize.
const (
	GenerationHeader = "x-generation"
	RefusedPath      = "/[a-z]{500}"
	MaxProgramSize   = 100
	rejection        = "regex program size is too large"
)

// Route is what a request is answered by.
type Route struct {
	// Name is that of the rule, and Generation that of the object it came from.
	Name       string
	Generation int
	Clusters   []string
}

// table is a RouteConfiguration: the route of each domain. Each host of the model has one rule.
type table struct {
	routes  map[string]*Route
	refused bool
}

type scope struct {
	name string
	// bytes are compared in place of Envoy's hash.
	bytes string
	table
}

type cluster struct {
	name string
	// endpoints is the name of the assignment, empty if there is none, and resolved says that DNS has to answer first.
	endpoints string
	resolved  bool
	secrets   []string
}

type chain struct {
	serverName string
	// routes is the name of the RouteConfiguration. If scoped is not empty, routes are in scopes instead, whose names begin with table.
	routes, scoped, table string
	secrets               []string
	refused               bool
}

type listener struct {
	name string
	// base is everything but the filter chains.
	base    string
	port    int
	bound   bool
	chains  []*chain
	refused bool
}

// What bytes mean. Equal bytes give the same pointer, so pointers can be compared in place of Envoy's hashes of messages.
var (
	knownClusters  interned[cluster]
	knownListeners interned[listener]
	knownChains    interned[chain]
	knownTables    interned[table]
)

func decode[T any](body *anypb.Any, known *interned[T], read func(*anypb.Any) *T) *T {
	return known.get(string(body.GetValue()), func() *T { return read(body) })
}

// unpack never fails for what the control plane has packed.
func unpack[M proto.Message](body *anypb.Any, into M) M {
	if err := body.UnmarshalTo(into); err != nil {
		panic(err)
	}
	return into
}

func pack(m proto.Message) string {
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func readTable(body *anypb.Any) *table {
	t := newTable(unpack(body, &routev3.RouteConfiguration{}))
	return &t
}

// readScope reads a scope. Each stream has a salt of its own in scopes, so their bytes hardly ever occur again.
func readScope(body *anypb.Any) *scope {
	m := unpack(body, &routev3.ScopedRouteConfiguration{})
	return &scope{m.GetKey().GetFragments()[0].GetStringKey(), string(body.GetValue()), newTable(m.GetRouteConfiguration())}
}

func newTable(m *routev3.RouteConfiguration) table {
	t := table{routes: map[string]*Route{}}
	for _, host := range m.GetVirtualHosts() {
		for _, r := range routesOf(host) {
			route := &Route{Name: r.GetName()}
			t.refused = t.refused || strings.Contains(r.GetMatch().GetSafeRegex().GetRegex(), RefusedPath)
			for _, h := range r.GetResponseHeadersToAdd() {
				if h.GetHeader().GetKey() == GenerationHeader {
					route.Generation, _ = strconv.Atoi(h.GetHeader().GetValue())
				}
			}
			if name := r.GetRoute().GetCluster(); name != "" {
				route.Clusters = append(route.Clusters, name)
			}
			for _, w := range r.GetRoute().GetWeightedClusters().GetClusters() {
				route.Clusters = append(route.Clusters, w.GetName())
			}
			for _, domain := range host.GetDomains() {
				if t.routes[domain] == nil && r.GetName() != "misdirected" {
					t.routes[domain] = route
				}
			}
		}
	}
	return t
}

// routesOf are the routes of a virtual host, in its list or anywhere in its matcher.
func routesOf(host *routev3.VirtualHost) []*routev3.Route {
	routes := host.GetRoutes()
	if host.GetMatcher() == nil {
		return routes
	}
	_ = protorange.Options{Stable: true}.Range(host.GetMatcher().ProtoReflect(), func(p protopath.Values) error {
		if m, ok := p.Index(-1).Value.Interface().(protoreflect.Message); ok {
			if route, ok := m.Interface().(*routev3.Route); ok {
				routes = append(routes, route)
				return protorange.Break
			}
		}
		return nil
	}, nil)
	return routes
}

func readCluster(body *anypb.Any) *cluster {
	m := unpack(body, &clusterv3.Cluster{})
	c := &cluster{name: m.GetName(), resolved: m.GetClusterType() != nil}
	if m.GetEdsClusterConfig() != nil {
		c.endpoints = m.GetEdsClusterConfig().GetServiceName()
	}
	if socket := m.GetTransportSocket().GetTypedConfig(); socket != nil {
		c.secrets = secretsOf(unpack(socket, &tlsv3.UpstreamTlsContext{}).GetCommonTlsContext())
	}
	return c
}

func secretsOf(tls *tlsv3.CommonTlsContext) []string {
	var names []string
	for _, s := range tls.GetTlsCertificateSdsSecretConfigs() {
		names = append(names, s.GetName())
	}
	validation := tls.GetValidationContextSdsSecretConfig()
	if combined := tls.GetCombinedValidationContext(); combined != nil {
		validation = combined.GetValidationContextSdsSecretConfig()
	}
	if validation != nil {
		names = append(names, validation.GetName())
	}
	return names
}

func readListener(body *anypb.Any) *listener {
	m := unpack(body, &listenerv3.Listener{})
	l := &listener{
		name: m.GetName(), port: int(m.GetAddress().GetSocketAddress().GetPortValue()),
		bound: m.GetBindToPort() == nil || m.GetBindToPort().GetValue(),
	}
	for _, fc := range m.GetFilterChains() {
		c := knownChains.get(pack(fc), func() *chain { return readChain(fc) })
		l.chains = append(l.chains, c)
		l.refused = l.refused || c.refused
	}
	m.FilterChains = nil
	l.base = pack(m)
	return l
}

func readChain(fc *listenerv3.FilterChain) *chain {
	c := &chain{}
	if names := fc.GetFilterChainMatch().GetServerNames(); len(names) > 0 {
		c.serverName = names[0]
	}
	if socket := fc.GetTransportSocket().GetTypedConfig(); socket != nil {
		c.secrets = secretsOf(unpack(socket, &tlsv3.DownstreamTlsContext{}).GetCommonTlsContext())
	}
	for _, f := range fc.GetFilters() {
		manager := &hcmv3.HttpConnectionManager{}
		if !f.GetTypedConfig().MessageIs(manager) {
			continue
		}
		unpack(f.GetTypedConfig(), manager)
		c.routes = manager.GetRds().GetRouteConfigName()
		if inline := manager.GetRouteConfig(); inline != nil {
			c.refused = newTable(inline).refused
		}
		if scopes := manager.GetScopedRoutes(); scopes != nil {
			c.scoped, c.table = pack(scopes.GetScopedRds()), tableOf(manager)
		}
	}
	return c
}

// tableOf is the beginning of the names of scopes that a connection manager looks for, which it writes into a header.
func tableOf(manager *hcmv3.HttpConnectionManager) string {
	for _, extension := range manager.GetEarlyHeaderMutationExtensions() {
		for _, mutation := range unpack(extension.GetTypedConfig(), &earlyv3.HeaderMutation{}).GetMutations() {
			if before, _, found := strings.Cut(mutation.GetAppend().GetHeader().GetValue(), "|"); found {
				return before
			}
		}
	}
	return ""
}
