package cluster

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// systemAuthorities is where the proxy's image keeps the public authorities.
const systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"

// alpn is the one protocol that is offered, because it is the one that will be spoken. A backend whose bytes are passed on is offered none.
var alpn = map[ir.BackendProtocol][]string{
	ir.BackendHTTP1:  {"http/1.1"},
	ir.BackendWSS:    {"http/1.1"},
	ir.BackendHTTP2:  {"h2"},
	ir.BackendPicker: {"h2"},
}

// upstreamTLS refers to authorities and key pairs by name only, so that rotating one leaves the cluster and its connections as they are.
func upstreamTLS(protocol ir.BackendProtocol, t *ir.BackendTLS) *corev3.TransportSocket {
	common := &tlsv3.CommonTlsContext{
		// Envoy's own maximum for backends is 1.2.
		TlsParams: &tlsv3.TlsParameters{
			TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2,
			TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
		},
		AlpnProtocols: alpn[protocol],
	}
	context := &tlsv3.UpstreamTlsContext{CommonTlsContext: common, Sni: t.ServerName}
	if t.Settings != nil {
		detailed(context, protocol, t.Settings)
	}
	if t.ClientCertificate != "" {
		common.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{{Name: t.ClientCertificate, SdsConfig: wire.ADS()}}
	}
	if t.Settings != nil && t.Settings.SkipVerify {
		return tlsTransport(context)
	}
	names := &tlsv3.CertificateValidationContext{MatchTypedSubjectAltNames: subjectNames(t.SubjectNames)}
	if t.Authorities == "" {
		names.TrustedCa = &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: systemAuthorities}}
		common.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: names}
	} else {
		common.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
			CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext:         names,
				ValidationContextSdsSecretConfig: &tlsv3.SdsSecretConfig{Name: t.Authorities, SdsConfig: wire.ADS()},
			},
		}
	}
	return tlsTransport(context)
}

func tlsTransport(context *tlsv3.UpstreamTlsContext) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name: wire.TLSTransportSocket, ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: wire.Any(context)},
	}
}

// subjectNames compares exactly; for hostnames, Envoy also takes a certificate's wildcard that covers the name.
func subjectNames(names []ir.SubjectName) []*tlsv3.SubjectAltNameMatcher {
	matchers := make([]*tlsv3.SubjectAltNameMatcher, len(names))
	for i, name := range names {
		kind := tlsv3.SubjectAltNameMatcher_DNS
		if name.URI {
			kind = tlsv3.SubjectAltNameMatcher_URI
		}
		matchers[i] = &tlsv3.SubjectAltNameMatcher{
			SanType: kind,
			Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name.Value}},
		}
	}
	return matchers
}
