package listener_test

import (
	"testing"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

func TestClientValidation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		clients  *ir.ClientValidation
		bundle   string
		required bool
		trust    tlsv3.CertificateValidationContext_TrustChainVerification
	}{
		{"no certificate is requested by default", nil, "", false, tlsv3.CertificateValidationContext_VERIFY_TRUST_CHAIN},
		{
			"a client without a trusted certificate is rejected",
			&ir.ClientValidation{Authorities: "ConfigMap/infra/ca"}, "ConfigMap/infra/ca", true,
			tlsv3.CertificateValidationContext_VERIFY_TRUST_CHAIN,
		},
		{
			"with a fallback it is asked and let in",
			&ir.ClientValidation{Authorities: "ConfigMap/infra/ca", Fallback: true, Optional: true}, "ConfigMap/infra/ca", false,
			tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			port := secure()
			port.Chains[0].Clients = c.clients
			got := listener.Listener(edge, port, nil)
			prototest.Valid(t, got)
			var tls tlsv3.DownstreamTlsContext
			if err := got.GetFilterChains()[0].GetTransportSocket().GetTypedConfig().UnmarshalTo(&tls); err != nil {
				t.Fatal(err)
			}
			common := tls.GetCommonTlsContext()
			source := common.GetValidationContextSdsSecretConfig()
			if combined := common.GetCombinedValidationContext(); combined != nil {
				source = combined.GetValidationContextSdsSecretConfig()
			}
			if source.GetName() != c.bundle || (c.bundle != "" && !proto.Equal(source.GetSdsConfig(), wire.ADS())) {
				t.Errorf("authorities come from %v", source)
			}
			if tls.GetRequireClientCertificate().GetValue() != c.required {
				t.Errorf("a certificate is required: %v", !c.required)
			}
			if trust := common.GetCombinedValidationContext().GetDefaultValidationContext().GetTrustChainVerification(); trust != c.trust {
				t.Errorf("trust is %v, want %v", trust, c.trust)
			}
		})
	}
}

func TestAuthorities(t *testing.T) {
	t.Parallel()
	got := listener.Authorities(ir.Authorities{Name: "ConfigMap/infra/ca", PEM: []byte("certificates")})
	prototest.Valid(t, got)
	if got.GetName() != "ConfigMap/infra/ca" || string(got.GetValidationContext().GetTrustedCa().GetInlineBytes()) != "certificates" {
		t.Errorf("got %v", got)
	}
}

func TestRevocationsAreWithTheirAuthorities(t *testing.T) {
	t.Parallel()
	got := listener.Authorities(ir.Authorities{Name: "a", PEM: []byte("certificates"), Revocations: []byte("lists")})
	prototest.Valid(t, got)
	if context := got.GetValidationContext(); string(context.GetCrl().GetInlineBytes()) != "lists" {
		t.Errorf("got %v", context)
	}
	port := secure()
	port.Chains[0].Clients = &ir.ClientValidation{Authorities: "a", OnlyLeaf: true}
	var tls tlsv3.DownstreamTlsContext
	secured := listener.Listener(edge, port, nil).GetFilterChains()[0].GetTransportSocket()
	if err := secured.GetTypedConfig().UnmarshalTo(&tls); err != nil {
		t.Fatal(err)
	}
	if own := tls.GetCommonTlsContext().GetCombinedValidationContext().GetDefaultValidationContext(); !own.GetOnlyVerifyLeafCertCrl() {
		t.Errorf("all certificates of a chain are looked for: %v", own)
	}
}
