package listener

import (
	"fmt"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
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
)

// Name is the name of a Gateway's listener on one port: `<namespace>/<gateway>/<port>`, with `/udp` behind it for a UDP port.
func Name(gateway ir.Name, port ir.Port) string { return fmt.Sprintf("%s/%s", gateway, port.ID()) }

// Listener is one socket of a Gateway's proxies, with a filter chain for each of the port's chains. A changed chain drains its own
// connections and no others. Its requests become spans as tracing says, none if it is nil.
func Listener(gateway ir.Name, port ir.Port, tracing *ir.Tracing) *listenerv3.Listener {
	var chains []*listenerv3.FilterChain
	for _, chain := range port.Chains {
		if port.Protocol != ir.UDP {
			chains = append(chains, FilterChains(port, chain, tracing)...)
		}
	}
	return WithChains(gateway, port, chains)
}

// WithChains is [Listener] with filter chains that were made before.
func WithChains(gateway ir.Name, port ir.Port, chains []*listenerv3.FilterChain) *listenerv3.Listener {
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
	accept := ir.SocketPolicy{}
	if port.Accept != nil {
		accept = *port.Accept
	}
	if port.Protocol == ir.QUIC {
		quic(l)
	} else {
		listen(l, port, &accept)
	}
	l.FilterChains = chains
	return l
}

// FilterChains are what a chain of a port becomes: one filter chain, and one more for peers that may tell who the client is. They depend
// on no other chain, nor on the socket.
func FilterChains(port ir.Port, chain ir.Chain, tracing *ir.Tracing) []*listenerv3.FilterChain {
	chains := []*listenerv3.FilterChain{filterChain(port, chain, tracing, false)}
	if ranges := chain.Client().Address.TrustedCIDRs; len(ranges) > 0 && !chain.RouteTable.IsZero() {
		trusted := filterChain(port, chain, tracing, true)
		trusted.Name += trustedSuffix
		if trusted.GetFilterChainMatch() == nil {
			trusted.FilterChainMatch = &listenerv3.FilterChainMatch{}
		}
		trusted.FilterChainMatch.SourcePrefixRanges = wire.CIDRs(ranges)
		chains = append(chains, trusted)
	}
	return chains
}

// ClosedNames closes the connections for server names. However many there are, they take little beside themselves.
func ClosedNames(port ir.Port, names []string) *listenerv3.FilterChain {
	fc := filterChain(port, ir.Chain{Name: closedName}, nil, false)
	fc.FilterChainMatch.ServerNames = names
	return fc
}

// CheckShared ends the [wire.Build] that it is part of if what all chains for requests have from their port is not valid, such as access
// logs and spans. No single chain is at fault then.
func CheckShared(port ir.Port, tracing *ir.Tracing) {
	isForRequests := func(c ir.Chain) bool { return !c.RouteTable.IsZero() }
	if i := slices.IndexFunc(port.Chains, isForRequests); i >= 0 {
		connectionManager(port, ir.Chain{RouteTable: port.Chains[i].RouteTable}, tracing, false)
	}
}

// closedName is the name of the filter chain of [ClosedNames]. No listener has it.
const closedName = "|closed"

// trustedSuffix is at the end of the name of a filter chain for peers that may tell who the client is. No listener has it in its name.
const trustedSuffix = "|trusted"

// filterChain is what happens to the connections of a chain. trusted says that the peer may tell who the client is.
func filterChain(port ir.Port, chain ir.Chain, tracing *ir.Tracing, trusted bool) *listenerv3.FilterChain {
	fc := &listenerv3.FilterChain{Name: chain.Name}
	policy := chain.Client()
	switch {
	case policy.FailClosed:
		fc.Filters = []*listenerv3.Filter{tcpProxy(port, nil, nil)}
	case chain.RouteTable.IsZero():
		fc.Filters = []*listenerv3.Filter{tcpProxy(port, chain.Stream, policy.Timeouts.StreamConnectionIdle)}
	default:
		if port.Protocol == ir.HTTPS || port.Protocol == ir.QUIC {
			fc.Filters = append(fc.Filters, filter.CarryChainName(chain.Name))
		}
		if chain.Filters > 0 {
			fc.Filters = append(fc.Filters, filter.CarryPlaces(chain.Filters))
		}
		fc.Filters = append(fc.Filters, connectionManager(port, chain, tracing, trusted))
	}
	fc.Filters = slices.Concat(connectionLimit(port, &policy.Limits), fc.Filters)
	if port.Protocol.ChoosesByName() {
		fc.FilterChainMatch = serverName(chain.ServerName)
	}
	if port.Protocol == ir.QUIC {
		fc.FilterChainMatch.TransportProtocol = "quic"
		fc.TransportSocket = quicTransport(chain)
		return fc
	}
	if len(chain.Certificates) > 0 && !policy.FailClosed {
		fc.TransportSocket = downstreamTLS(chain)
		if handshake := timeout(policy.Timeouts.Handshake, handshakeTimeout); handshake.AsDuration() > 0 {
			fc.TransportSocketConnectTimeout = handshake
		}
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
		Address: anyAddress,
		PortSpecifier: &corev3.SocketAddress_PortValue{
			PortValue: uint32(port.Socket()), //nolint:gosec // a port number, validated by the API server
		},
	}
	if port.Protocol.Datagrams() {
		address.Protocol = corev3.SocketAddress_UDP
	}
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: address}}
}
