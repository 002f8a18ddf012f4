package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const tlsSocket = "envoy.transport_sockets.tls"

// httpProtocols are what a client is offered where HTTP is spoken.
var httpProtocols = []string{"h2", "http/1.1"}

// downstreamTLS refers to certificates and authorities by name only, so that rotating one leaves the listener as it is.
func downstreamTLS(chain ir.Chain) *corev3.TransportSocket {
	secrets := make([]*tlsv3.SdsSecretConfig, len(chain.Certificates))
	for i, name := range chain.Certificates {
		secrets[i] = &tlsv3.SdsSecretConfig{Name: name, SdsConfig: wire.ADS()}
	}
	tls := &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsParams:                      &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
		TlsCertificateSdsSecretConfigs: secrets,
	}}
	if chain.RouteTable != "" {
		tls.CommonTlsContext.AlpnProtocols = httpProtocols
	}
	if chain.Clients != nil {
		validateClients(tls, chain.Clients)
	}
	return &corev3.TransportSocket{
		Name:       tlsSocket,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: wire.Any(tls)},
	}
}

// Secret is a key pair under the name the listeners ask for. It holds a private key: it must never be printed.
func Secret(c ir.Certificate) *tlsv3.Secret {
	return &tlsv3.Secret{
		Name: c.Name,
		Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inline(c.CertificatePEM),
			PrivateKey:       inline(c.PrivateKeyPEM),
		}},
	}
}

func inline(data []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: data}}
}
