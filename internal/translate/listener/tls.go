package listener

import (
	"cmp"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// httpProtocols are what a client is offered where HTTP is spoken.
var httpProtocols = []string{"h2", "http/1.1"}

// downstreamTLS refers to certificates and authorities by name only, so that rotating one leaves the listener as it is.
func downstreamTLS(chain ir.Chain) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       wire.TLSTransportSocket,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: wire.Any(tlsContext(chain))},
	}
}

func tlsContext(chain ir.Chain) *tlsv3.DownstreamTlsContext {
	secrets := make([]*tlsv3.SdsSecretConfig, len(chain.Certificates))
	for i, name := range chain.Certificates {
		secrets[i] = &tlsv3.SdsSecretConfig{Name: name, SdsConfig: wire.ADS()}
	}
	policy := chain.Client().TLS
	tls := &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsParams:                      tlsParameters(&policy),
		TlsCertificateSdsSecretConfigs: secrets,
	}}
	switch {
	case policy.ALPN != nil:
		tls.CommonTlsContext.AlpnProtocols = *policy.ALPN
	case !chain.RouteTable.IsZero():
		tls.CommonTlsContext.AlpnProtocols = httpProtocols
	}
	// Fields of the standard win over policies.
	if clients := cmp.Or(chain.Clients, policy.Clients); clients != nil {
		validateClients(tls, clients)
	}
	if r := policy.Resumption; r != nil {
		tls.DisableStatefulSessionResumption = !r.Stateful
		tls.SessionTicketKeysType = &tlsv3.DownstreamTlsContext_DisableStatelessSessionResumption{DisableStatelessSessionResumption: !r.Stateless}
	}
	return tls
}

var tlsVersions = map[string]tlsv3.TlsParameters_TlsProtocol{
	"": tlsv3.TlsParameters_TLS_AUTO, "1.0": tlsv3.TlsParameters_TLSv1_0, "1.1": tlsv3.TlsParameters_TLSv1_1,
	"1.2": tlsv3.TlsParameters_TLSv1_2, "1.3": tlsv3.TlsParameters_TLSv1_3,
}

// tlsParameters allows TLS 1.2 and later by default. A highest version below the lowest, of different policies, does not count.
func tlsParameters(policy *ir.ClientTLS) *tlsv3.TlsParameters {
	lowest, highest := cmp.Or(policy.MinVersion, "1.2"), policy.MaxVersion
	if highest != "" && highest < lowest {
		highest = lowest
	}
	return &tlsv3.TlsParameters{
		TlsMinimumProtocolVersion: tlsVersions[lowest], TlsMaximumProtocolVersion: tlsVersions[highest],
		CipherSuites: policy.Ciphers, EcdhCurves: policy.Curves, SignatureAlgorithms: policy.SignatureAlgorithms,
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

// Credential is a secret that is no certificate.
func Credential(c ir.Credential) *tlsv3.Secret {
	return &tlsv3.Secret{
		Name: c.Name, Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: inline([]byte(c.Value))}},
	}
}

func inline(data []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: data}}
}
