package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	quicv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/quic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// quic has a listener accept connections of QUIC.
func quic(l *listenerv3.Listener) {
	l.UdpListenerConfig = &listenerv3.UdpListenerConfig{
		QuicOptions:            &listenerv3.QuicProtocolOptions{},
		DownstreamSocketConfig: &corev3.UdpSocketConfig{PreferGro: wrapperspb.Bool(true)},
	}
}

// quicTransport is TLS as QUIC has it: version 1.3, with the protocol h3. Early data is off, because an attacker can record it and send it
// again.
func quicTransport(chain ir.Chain) *corev3.TransportSocket {
	tls := tlsContext(chain)
	tls.CommonTlsContext.AlpnProtocols = []string{"h3"}
	if p := tls.GetCommonTlsContext().GetTlsParams(); p != nil {
		p.TlsMinimumProtocolVersion, p.TlsMaximumProtocolVersion = tlsv3.TlsParameters_TLSv1_3, tlsv3.TlsParameters_TLSv1_3
	}
	return &corev3.TransportSocket{
		Name: "envoy.transport_sockets.quic",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: wire.Any(&quicv3.QuicDownstreamTransport{
			DownstreamTlsContext: tls, EnableEarlyData: wrapperspb.Bool(false),
		})},
	}
}
