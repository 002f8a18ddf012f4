package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

var tlsVersions = map[string]tlsv3.TlsParameters_TlsProtocol{
	"1.0": tlsv3.TlsParameters_TLSv1_0, "1.1": tlsv3.TlsParameters_TLSv1_1,
	"1.2": tlsv3.TlsParameters_TLSv1_2, "1.3": tlsv3.TlsParameters_TLSv1_3,
}

// detailed adds what only Backends say about TLS.
func detailed(context *tlsv3.UpstreamTlsContext, protocol ir.BackendProtocol, s *ir.BackendTLSSettings) {
	common := context.GetCommonTlsContext()
	if version, ok := tlsVersions[s.MinVersion]; ok {
		common.TlsParams.TlsMinimumProtocolVersion = version
	}
	if version, ok := tlsVersions[s.MaxVersion]; ok {
		common.TlsParams.TlsMaximumProtocolVersion = version
	}
	common.TlsParams.CipherSuites, common.TlsParams.EcdhCurves = s.Ciphers, s.Curves
	common.TlsParams.SignatureAlgorithms = s.SignatureAlgorithms
	if s.ALPN != nil {
		common.AlpnProtocols = *s.ALPN
	}
	// Connections that are passed on have no request that names a host.
	if s.NameOf == ir.NameOfEndpoint || s.NameOf == ir.NameOfRequest && !isHTTP(protocol) {
		context.AutoHostSni, context.AutoSniSanValidation = true, !s.SkipVerify
	}
}

// nameOfRequest asks a backend for the host of each request, and compares its certificate with that.
func nameOfRequest(c *clusterv3.Cluster, protocol ir.BackendProtocol, t *ir.BackendTLS) {
	if t.Settings == nil || t.Settings.NameOf != ir.NameOfRequest || !isHTTP(protocol) {
		return
	}
	options := &upstreamhttpv3.HttpProtocolOptions{}
	if err := c.GetTypedExtensionProtocolOptions()[wire.HTTPProtocolOptions].UnmarshalTo(options); err != nil {
		failClosed(c)
		return
	}
	options.UpstreamHttpProtocolOptions = &corev3.UpstreamHttpProtocolOptions{AutoSni: true, AutoSanValidation: !t.Settings.SkipVerify}
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{wire.HTTPProtocolOptions: wire.Any(options)}
}

func isHTTP(protocol ir.BackendProtocol) bool {
	_, http := alpn[protocol]
	return http
}
