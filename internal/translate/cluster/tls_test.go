package cluster_test

import (
	"slices"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

// tlsOf makes a cluster and returns how it is secured.
func tlsOf(t *testing.T, protocol ir.BackendProtocol, tls *ir.BackendTLS) *tlsv3.UpstreamTlsContext {
	t.Helper()
	c := cluster.Cluster(
		ir.Backend{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 8443, Protocol: protocol},
		cluster.Options{Policy: &ir.DestinationPolicy{TLS: tls}},
	)
	prototest.Valid(t, c)
	if c.GetName() != (ir.Backend{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 8443, Protocol: protocol}).String() {
		t.Errorf("TLS changed the name to %q", c.GetName())
	}
	var upstream tlsv3.UpstreamTlsContext
	if err := c.GetTransportSocket().GetTypedConfig().UnmarshalTo(&upstream); err != nil {
		t.Fatal(err)
	}
	prototest.Valid(t, &upstream)
	return &upstream
}

func TestBackendTLS(t *testing.T) {
	t.Parallel()
	names := []ir.SubjectName{{Value: "cart.example.com"}, {URI: true, Value: "spiffe://example.com/cart"}}
	bundle := ir.BackendTLS{ServerName: "cart.example.com", SubjectNames: names, Authorities: "BackendTLSPolicy/shop/p"}

	t.Run("the backend is asked for by name and TLS 1.3 is allowed", func(t *testing.T) {
		t.Parallel()
		upstream := tlsOf(t, ir.BackendHTTP1, &bundle)
		if upstream.GetSni() != "cart.example.com" {
			t.Errorf("SNI is %q", upstream.GetSni())
		}
		params := upstream.GetCommonTlsContext().GetTlsParams()
		if params.GetTlsMinimumProtocolVersion() != tlsv3.TlsParameters_TLSv1_2 ||
			params.GetTlsMaximumProtocolVersion() != tlsv3.TlsParameters_TLSv1_3 {
			t.Errorf("versions are %v", params)
		}
	})
	t.Run("the protocol that is spoken is the one that is offered", func(t *testing.T) {
		t.Parallel()
		for protocol, want := range map[ir.BackendProtocol][]string{ir.BackendHTTP1: {"http/1.1"}, ir.BackendHTTP2: {"h2"}} {
			if got := tlsOf(t, protocol, &bundle).GetCommonTlsContext().GetAlpnProtocols(); !slices.Equal(got, want) {
				t.Errorf("%s offers %q, want %q", protocol, got, want)
			}
		}
	})
	t.Run("authorities are asked for by name and names are compared by kind", func(t *testing.T) {
		t.Parallel()
		combined := tlsOf(t, ir.BackendHTTP1, &bundle).GetCommonTlsContext().GetCombinedValidationContext()
		if got := combined.GetValidationContextSdsSecretConfig().GetName(); got != bundle.Authorities {
			t.Errorf("authorities are asked for as %q", got)
		}
		matchers := combined.GetDefaultValidationContext().GetMatchTypedSubjectAltNames()
		if len(matchers) != 2 || matchers[0].GetSanType() != tlsv3.SubjectAltNameMatcher_DNS ||
			matchers[1].GetSanType() != tlsv3.SubjectAltNameMatcher_URI {
			t.Errorf("matchers are %v", matchers)
		}
	})
	t.Run("without a bundle the system's authorities are trusted", func(t *testing.T) {
		t.Parallel()
		system := bundle
		system.Authorities = ""
		validation := tlsOf(t, ir.BackendHTTP1, &system).GetCommonTlsContext().GetValidationContext()
		if validation.GetTrustedCa().GetFilename() == "" || len(validation.GetMatchTypedSubjectAltNames()) != 2 {
			t.Errorf("validation is %v", validation)
		}
	})
	t.Run("a client certificate is shown only where there is one", func(t *testing.T) {
		t.Parallel()
		if got := tlsOf(t, ir.BackendHTTP1, &bundle).GetCommonTlsContext().GetTlsCertificateSdsSecretConfigs(); len(got) != 0 {
			t.Errorf("it shows %v", got)
		}
		own := bundle
		own.ClientCertificate = "infra/client"
		got := tlsOf(t, ir.BackendHTTP1, &own).GetCommonTlsContext().GetTlsCertificateSdsSecretConfigs()
		if len(got) != 1 || got[0].GetName() != "infra/client" {
			t.Errorf("it shows %v", got)
		}
	})
}

func TestRefusedTLSLeadsNowhere(t *testing.T) {
	t.Parallel()
	c := cluster.Cluster(
		ir.Backend{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 8443, Protocol: ir.BackendHTTP1},
		cluster.Options{Policy: &ir.DestinationPolicy{TLS: &ir.BackendTLS{FailClosed: true}}},
	)
	prototest.Valid(t, c)
	if c.GetType() != clusterv3.Cluster_STATIC || len(c.GetLoadAssignment().GetEndpoints()) != 0 || c.GetEdsClusterConfig() != nil {
		t.Errorf("a backend whose TLS is refused can be reached: %v", c)
	}
}
