package listener

import (
	"fmt"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	// anyAddress is what a listener has before [Bind] adds IPv6, or replaces it, where pods have that.
	anyAddress = "0.0.0.0"
	// bufferLimit is what Envoy's guide for edge proxies asks for: a slow reader must not fill the proxy's memory.
	bufferLimit = 32 * 1024
	// handshakeTimeout ends a connection whose client stops in the middle of the TLS handshake.
	handshakeTimeout = 10 * time.Second

	tlsInspector = "envoy.filters.listener.tls_inspector"
)

// Name is the name of a Gateway's listener on one port: `<namespace>/<gateway>/<port>`, with `/udp` behind it for a UDP port.
func Name(gateway ir.Name, port ir.Port) string { return fmt.Sprintf("%s/%s", gateway, port.ID()) }

// Listener is one socket of a Gateway's proxies, with a filter chain for each of the port's chains. A changed chain drains its own
// connections and no others. Its requests become spans as tracing says, none if it is nil.
func Listener(gateway ir.Name, port ir.Port, tracing *ir.Tracing) *listenerv3.Listener {
	l := &listenerv3.Listener{
		Name:                          Name(gateway, port),
		Address:                       socket(port),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
	}
	if port.Protocol == ir.UDP {
		datagrams(l, port)
		return l
	}
	l.AccessLog = connectionLogs(port)
	if port.Protocol.ChoosesByName() {
		l.ListenerFilters = []*listenerv3.ListenerFilter{{
			Name:       tlsInspector,
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: wire.Any(&tlsinspectorv3.TlsInspector{})},
		}}
	}
	for _, chain := range port.Chains {
		l.FilterChains = append(l.FilterChains, filterChain(port, chain, tracing))
	}
	return l
}

func filterChain(port ir.Port, chain ir.Chain, tracing *ir.Tracing) *listenerv3.FilterChain {
	fc := &listenerv3.FilterChain{Name: chain.Name}
	switch {
	case chain.RouteTable == "":
		fc.Filters = []*listenerv3.Filter{tcpProxy(port, chain.Stream)}
	case port.Protocol == ir.HTTPS:
		fc.Filters = []*listenerv3.Filter{filter.CarryChainName(chain.Name), connectionManager(port, chain, tracing)}
	default:
		fc.Filters = []*listenerv3.Filter{connectionManager(port, chain, tracing)}
	}
	if port.Protocol.ChoosesByName() {
		fc.FilterChainMatch = serverName(chain.ServerName)
	}
	if len(chain.Certificates) > 0 {
		fc.TransportSocket = downstreamTLS(chain)
		fc.TransportSocketConnectTimeout = durationpb.New(handshakeTimeout)
	}
	return fc
}

// serverName selects the TLS connections that ask for a name, or with no name those no other chain takes. Plain text on a TLS port
// finds no chain and is closed.
func serverName(name string) *listenerv3.FilterChainMatch {
	match := &listenerv3.FilterChainMatch{TransportProtocol: "tls"}
	if name != "" {
		match.ServerNames = []string{name}
	}
	return match
}

func socket(port ir.Port) *corev3.Address {
	address := &corev3.SocketAddress{
		Address:       anyAddress,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port.Socket())}, //nolint:gosec // a port number, validated by the API server
	}
	if port.Protocol == ir.UDP {
		address.Protocol = corev3.SocketAddress_UDP
	}
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: address}}
}
