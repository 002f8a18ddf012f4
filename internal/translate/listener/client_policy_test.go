package listener_test

import (
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestAPolicyOfDefaultsChangesNothing(t *testing.T) {
	t.Parallel()
	want := listener.Listener(edge, secure(), nil)
	port := secure()
	port.Accept, port.Chains[0].Policy = &ir.SocketPolicy{}, &ir.ClientPolicy{}
	if got := listener.Listener(edge, port, nil); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTrustedPeersHaveAFilterChain(t *testing.T) {
	t.Parallel()
	port := secure()
	port.Chains[0].Policy = &ir.ClientPolicy{Address: ir.ClientAddress{TrustedCIDRs: []string{"10.0.0.0/8", "2001:db8::/32"}}}
	got := listener.Listener(edge, port, nil)
	prototest.Valid(t, got)
	chains := got.GetFilterChains()
	if len(chains) != len(port.Chains)+1 || len(chains[0].GetFilterChainMatch().GetSourcePrefixRanges()) != 0 {
		t.Fatalf("there are %d chains", len(chains))
	}
	match := chains[1].GetFilterChainMatch()
	if len(match.GetSourcePrefixRanges()) != 2 || match.GetTransportProtocol() != chains[0].GetFilterChainMatch().GetTransportProtocol() {
		t.Errorf("trusted peers are %v", match)
	}
}

func TestSocketPolicy(t *testing.T) {
	t.Parallel()
	port := secure()
	port.Accept = &ir.SocketPolicy{
		Keepalive: &ir.TCPKeepalive{Probes: 3, Idle: 10 * time.Second, Interval: 5 * time.Second}, Proxy: &ir.ProxyProtocol{Optional: true},
		BufferLimit: 1 << 20, SocketBufferLimit: 1 << 18, MaxAccept: new(uint32(4)), InspectionTimeout: new(time.Second), JA3: true, JA4: true,
	}
	got := listener.Listener(edge, port, nil)
	prototest.Valid(t, got)
	if len(got.GetSocketOptions()) != 6 || got.GetPerConnectionBufferLimitBytes().GetValue() != 1<<20 {
		t.Errorf("socket options are %v, the limit of a buffer is %v", got.GetSocketOptions(), got.GetPerConnectionBufferLimitBytes())
	}
	if got.GetMaxConnectionsToAcceptPerSocketEvent().GetValue() != 4 || got.GetListenerFiltersTimeout().AsDuration() != time.Second {
		t.Errorf("got %v", got)
	}
	names := []string{}
	for _, f := range got.GetListenerFilters() {
		names = append(names, f.GetName())
	}
	if len(names) != 2 || names[0] != "envoy.filters.listener.proxy_protocol" {
		t.Errorf("listener filters are %v; the header of the PROXY protocol comes first", names)
	}
}

func TestWhatCannotBeServedIsClosed(t *testing.T) {
	t.Parallel()
	port := secure()
	port.Chains[0].Policy = &ir.ClientPolicy{FailClosed: true}
	got := listener.Listener(edge, port, nil)
	prototest.Valid(t, got)
	chain := got.GetFilterChains()[0]
	if chain.GetTransportSocket() != nil || len(chain.GetFilters()) != 1 ||
		chain.GetFilters()[0].GetName() != "envoy.filters.network.tcp_proxy" {
		t.Errorf("the chain is %v", chain)
	}
}

func TestHighestVersionIsNotBelowTheLowest(t *testing.T) {
	t.Parallel()
	port := secure()
	port.Chains[0].Policy = &ir.ClientPolicy{TLS: ir.ClientTLS{MinVersion: "1.3", MaxVersion: "1.2"}}
	params := tlsOf(t, listener.Listener(edge, port, nil)).GetCommonTlsContext().GetTlsParams()
	if params.GetTlsMinimumProtocolVersion() != tlsv3.TlsParameters_TLSv1_3 ||
		params.GetTlsMaximumProtocolVersion() != tlsv3.TlsParameters_TLSv1_3 {
		t.Errorf("versions are %v", params)
	}
}

func tlsOf(t *testing.T, l *listenerv3.Listener) *tlsv3.DownstreamTlsContext {
	t.Helper()
	prototest.Valid(t, l)
	tls := &tlsv3.DownstreamTlsContext{}
	socket := &corev3.TransportSocket{}
	proto.Merge(socket, l.GetFilterChains()[0].GetTransportSocket())
	if err := socket.GetTypedConfig().UnmarshalTo(tls); err != nil {
		t.Fatal(err)
	}
	return tls
}

// TestAConnectionDurationOfZeroIsNoLimit: Envoy takes zero for a duration, and drains each connection at once.
func TestAConnectionDurationOfZeroIsNoLimit(t *testing.T) {
	t.Parallel()
	port := secure()
	port.Chains[0].Policy = &ir.ClientPolicy{Limits: ir.ClientLimits{ConnectionDuration: new(time.Duration(0))}}
	m := manager(t, listener.Listener(edge, port, nil).GetFilterChains()[0])
	if got := m.GetCommonHttpProtocolOptions().GetMaxConnectionDuration(); got != nil {
		t.Errorf("the duration is %v", got)
	}
}
