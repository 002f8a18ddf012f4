package listener

import (
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// validateClients asks clients for a certificate that one of the authorities signed. With a fallback it is still asked for and looked
// at, but no answer to it ends the connection.
func validateClients(tls *tlsv3.DownstreamTlsContext, clients *ir.ClientValidation) {
	authorities := &tlsv3.SdsSecretConfig{Name: clients.Authorities, SdsConfig: wire.ADS()}
	if !clients.Fallback {
		tls.RequireClientCertificate = wrapperspb.Bool(true)
		tls.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{
			ValidationContextSdsSecretConfig: authorities,
		}
		return
	}
	tls.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
		CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
			DefaultValidationContext: &tlsv3.CertificateValidationContext{
				TrustChainVerification: tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED,
			},
			ValidationContextSdsSecretConfig: authorities,
		},
	}
}

// Authorities is a bundle under the name that whoever trusts them asks for.
func Authorities(b ir.Authorities) *tlsv3.Secret {
	return &tlsv3.Secret{
		Name: b.Name,
		Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: inline(b.PEM)}},
	}
}
