package listener_test

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	udpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	hashingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/input_matchers/consistent_hashing/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// named is the backend of a cluster.
func named(cluster string) ir.Backend {
	backend, _ := ir.ParseBackend(cluster)
	return backend
}

func streamTo(backends ...ir.StreamBackend) *ir.Stream {
	return &ir.Stream{Route: "TCPRoute/shop/cart", Backends: backends}
}

func TestStream(t *testing.T) {
	t.Parallel()
	a, b := ir.StreamBackend{Backend: named("shop/a/80/tcp"), Weight: 7}, ir.StreamBackend{Backend: named("shop/b/80/tcp"), Weight: 3}
	for _, c := range []struct {
		name   string
		stream *ir.Stream
		want   map[string]uint32
	}{
		{"a single backend gets every connection", streamTo(a), map[string]uint32{"shop/a/80/tcp": 1}},
		{"several get their shares", streamTo(a, b), map[string]uint32{"shop/a/80/tcp": 7, "shop/b/80/tcp": 3}},
		{"weight 0 gets none", streamTo(a, ir.StreamBackend{Backend: named("shop/c/80/tcp")}), map[string]uint32{"shop/a/80/tcp": 1}},
		{
			"the share of what cannot be resolved is refused", streamTo(a, ir.StreamBackend{Weight: 3}),
			map[string]uint32{"shop/a/80/tcp": 7, wire.UnresolvedBackend: 3},
		},
		{"without a backend every connection is refused", streamTo(), map[string]uint32{wire.UnresolvedBackend: 1}},
		{"without a route too", nil, map[string]uint32{wire.UnresolvedBackend: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := listener.Listener(edge, ir.Port{Number: 9000, Protocol: ir.TCP, Chains: []ir.Chain{{Name: "tcp", Stream: c.stream}}}, nil)
			prototest.Valid(t, l)
			got := map[string]uint32{}
			proxy := tcpProxy(t, l.GetFilterChains()[0])
			if name := proxy.GetCluster(); name != "" {
				got[name] = 1
			}
			for _, share := range proxy.GetWeightedClusters().GetClusters() {
				got[share.GetName()] = share.GetWeight()
			}
			if len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for name, weight := range c.want {
				if got[name] != weight {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}
		})
	}
}

func tcpProxy(t *testing.T, chain *listenerv3.FilterChain) *tcpv3.TcpProxy {
	t.Helper()
	var proxy tcpv3.TcpProxy
	if err := chain.GetFilters()[0].GetTypedConfig().UnmarshalTo(&proxy); err != nil {
		t.Fatal(err)
	}
	return &proxy
}

func TestStreamBehindTLS(t *testing.T) {
	t.Parallel()
	l := listener.Listener(edge, ir.Port{Number: 8443, Protocol: ir.TLS, Chains: []ir.Chain{
		{Name: "ends", ServerName: "a.example", Certificates: []string{"infra/a"}, Stream: streamTo()},
		{Name: "passes", ServerName: "b.example", Stream: streamTo()},
	}}, nil)
	prototest.Valid(t, l)
	if len(l.GetListenerFilters()) != 1 {
		t.Error("the server name is not read")
	}
	ends, passes := l.GetFilterChains()[0], l.GetFilterChains()[1]
	if passes.GetTransportSocket() != nil || passes.GetFilterChainMatch().GetServerNames()[0] != "b.example" {
		t.Errorf("TLS does not pass through: %v", passes)
	}
	var tls tlsv3.DownstreamTlsContext
	if err := ends.GetTransportSocket().GetTypedConfig().UnmarshalTo(&tls); err != nil {
		t.Fatal(err)
	}
	if protocols := tls.GetCommonTlsContext().GetAlpnProtocols(); len(protocols) != 0 {
		t.Errorf("%v is offered where anything may be spoken", protocols)
	}
}

func TestDatagrams(t *testing.T) {
	t.Parallel()
	stream := streamTo(
		ir.StreamBackend{
			Backend: named("shop/a/53/udp"),
			Weight:  70,
		},
		ir.StreamBackend{Weight: 20},
		ir.StreamBackend{Backend: named("shop/b/53/udp"), Weight: 10},
	)
	port := ir.Port{Number: 53, Protocol: ir.UDP, Chains: []ir.Chain{{Name: "udp", Stream: stream}}}
	l := listener.Listener(edge, port, nil)
	prototest.Valid(t, l)
	if l.GetName() != "infra/edge/53/udp" || l.GetAddress().GetSocketAddress().GetProtocol() != corev3.SocketAddress_UDP ||
		l.GetUdpListenerConfig() == nil {
		t.Errorf("not a UDP listener: %v", l)
	}
	var proxy udpv3.UdpProxyConfig
	if err := l.GetListenerFilters()[0].GetTypedConfig().UnmarshalTo(&proxy); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for hash := range uint32(100) {
		counts[chosen(t, &proxy, hash)]++
	}
	if counts["shop/a/53/udp"] != 70 || counts[wire.UnresolvedBackend] != 20 || counts["shop/b/53/udp"] != 10 {
		t.Errorf("of 100 clients: %v", counts)
	}
}

// chosen finds the cluster as Envoy does for a client whose port has that hash: the first matcher whose threshold is not above it.
func chosen(t *testing.T, proxy *udpv3.UdpProxyConfig, hash uint32) string {
	t.Helper()
	for _, m := range proxy.GetMatcher().GetMatcherList().GetMatchers() {
		var hashing hashingv3.ConsistentHashing
		if err := m.GetPredicate().GetSinglePredicate().GetCustomMatch().GetTypedConfig().UnmarshalTo(&hashing); err != nil {
			t.Fatal(err)
		}
		if hash%hashing.GetModulo() < hashing.GetThreshold() {
			continue
		}
		var to udpv3.Route
		if err := m.GetOnMatch().GetAction().GetTypedConfig().UnmarshalTo(&to); err != nil {
			t.Fatal(err)
		}
		return to.GetCluster()
	}
	return ""
}
