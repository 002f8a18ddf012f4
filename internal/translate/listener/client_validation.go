package listener

import (
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// validateClients asks clients for a certificate. Which ones are accepted is in the validation context. With a fallback one is still asked
// for and looked at, but no answer to it ends the connection.
func validateClients(tls *tlsv3.DownstreamTlsContext, clients *ir.ClientValidation) {
	if !clients.Optional {
		tls.RequireClientCertificate = wrapperspb.Bool(true)
	}
	authorities := &tlsv3.SdsSecretConfig{Name: clients.Authorities, SdsConfig: wire.ADS()}
	own := validationContext(clients)
	switch {
	case clients.Authorities == "":
		tls.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: own}
	case proto.Size(own) == 0:
		tls.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{
			ValidationContextSdsSecretConfig: authorities,
		}
	default:
		tls.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
			CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext: own, ValidationContextSdsSecretConfig: authorities,
			},
		}
	}
}

// validationContext is which certificates are accepted, apart from the authorities that sign them.
func validationContext(clients *ir.ClientValidation) *tlsv3.CertificateValidationContext {
	context := &tlsv3.CertificateValidationContext{
		VerifyCertificateSpki: clients.SPKIHashes, VerifyCertificateHash: clients.CertificateHashes,
		// Without authorities Envoy never looks at it.
		AllowExpiredCertificate: clients.AllowExpired && clients.Authorities != "", OnlyVerifyLeafCertCrl: clients.OnlyLeaf,
	}
	if clients.Fallback {
		context.TrustChainVerification = tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED
	}
	for _, name := range clients.Names {
		context.MatchTypedSubjectAltNames = append(context.MatchTypedSubjectAltNames, &tlsv3.SubjectAltNameMatcher{
			SanType: sanTypes[name.Kind], Oid: name.OID, Matcher: filter.StringMatch(name.Match),
		})
	}
	return context
}

var sanTypes = map[string]tlsv3.SubjectAltNameMatcher_SanType{
	ir.SANDNS: tlsv3.SubjectAltNameMatcher_DNS, ir.SANEmail: tlsv3.SubjectAltNameMatcher_EMAIL,
	ir.SANIP: tlsv3.SubjectAltNameMatcher_IP_ADDRESS, ir.SANURI: tlsv3.SubjectAltNameMatcher_URI,
	ir.SANOther: tlsv3.SubjectAltNameMatcher_OTHER_NAME,
}

// Authorities is a bundle under the name that is requested.
func Authorities(b ir.Authorities) *tlsv3.Secret {
	context := &tlsv3.CertificateValidationContext{TrustedCa: inline(b.PEM)}
	if len(b.Revocations) > 0 {
		context.Crl = inline(b.Revocations)
	}
	return &tlsv3.Secret{Name: b.Name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: context}}
}
