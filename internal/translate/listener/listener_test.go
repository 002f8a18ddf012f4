package listener_test

import (
	"slices"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

var edge = ir.Name{Namespace: "infra", Name: "edge"}

func plain() ir.Port {
	return ir.Port{Number: 80, Protocol: ir.HTTP, Chains: []ir.Chain{{Name: "http", RouteTable: ir.ParseTableID("infra/edge/80")}}}
}

func secure() ir.Port {
	return ir.Port{Number: 8443, Protocol: ir.HTTPS, Chains: []ir.Chain{
		{
			Name:         "a",
			ServerName:   "a.example",
			Certificates: []string{"infra/a-rsa", "infra/a-ecdsa"},
			RouteTable:   ir.ParseTableID("infra/edge/8443"),
		},
		{Name: "any", Certificates: []string{"infra/any"}, RouteTable: ir.ParseTableID("infra/edge/8443")},
		{Name: "wild", ServerName: "*.example", Certificates: []string{"infra/wild"}, RouteTable: ir.ParseTableID("infra/edge/8443")},
	}}
}

func TestListener(t *testing.T) {
	t.Parallel()
	for _, port := range []ir.Port{plain(), secure()} {
		t.Run("on an "+string(port.Protocol)+" port is valid and the same every time", func(t *testing.T) {
			t.Parallel()
			got := listener.Listener(edge, port, nil)
			prototest.Valid(t, got)
			if !proto.Equal(got, listener.Listener(edge, port, nil)) {
				t.Error("the same port gave another listener")
			}
			if want := listener.Name(edge, port); got.GetName() != want {
				t.Errorf("name is %q, want %q", got.GetName(), want)
			}
			if at := got.GetAddress().GetSocketAddress(); at.GetPortValue() != uint32(port.Number) { //nolint:gosec // a port number
				t.Errorf("bound to %v", at)
			}
			for i, chain := range got.GetFilterChains() {
				if table := manager(t, chain).GetRds().GetRouteConfigName(); table != port.Chains[i].RouteTable.String() {
					t.Errorf("chain %q answers from %q", chain.GetName(), table)
				}
			}
		})
	}
}

func TestConnectionsCanBeAskedToClose(t *testing.T) {
	t.Parallel()
	m := manager(t, listener.Listener(edge, plain(), nil).GetFilterChains()[0])
	// A proxy that is to end shortens this time; it must be there, and must not close connections on which a request may be on its way.
	if m.GetCommonHttpProtocolOptions().GetMaxConnectionDuration().AsDuration() < 24*time.Hour || !m.GetHttp1SafeMaxConnectionDuration() {
		t.Errorf("connections live for %v", m.GetCommonHttpProtocolOptions())
	}
}

func TestListenerChains(t *testing.T) {
	t.Parallel()
	t.Run("plain text has one chain for all", func(t *testing.T) {
		t.Parallel()
		got := listener.Listener(edge, plain(), nil)
		if len(got.GetFilterChains()) != 1 || got.GetFilterChains()[0].GetFilterChainMatch() != nil || len(got.GetListenerFilters()) != 0 {
			t.Errorf("got %v", got)
		}
	})
	tests := []struct {
		name, serverName, chain string
	}{
		{"an exact server name goes before a wildcard", "a.example", "a"},
		{"a wildcard takes the names below it", "b.example", "wild"},
		{"another name goes to the chain without one", "a.test", "any"},
		{"no name goes to the chain without one", "", "any"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			chain := choose(listener.Listener(edge, secure(), nil), tt.serverName)
			if chain.GetName() != tt.chain {
				t.Errorf("%q is answered by %q, want %q", tt.serverName, chain.GetName(), tt.chain)
			}
			if first := chain.GetFilters()[0]; !proto.Equal(first, filter.CarryChainName(tt.chain)) {
				t.Errorf("requests of chain %q do not know by which chain they came: %v", tt.chain, first)
			}
		})
	}
}

func TestConnectionsCarryThePlacesOfFilters(t *testing.T) {
	t.Parallel()
	port := ir.Port{Number: 80, Protocol: ir.HTTP, Chains: []ir.Chain{{Name: "http", RouteTable: ir.TableID{Gateway: "a/b", Port: 80}}}}
	if filters := listener.Listener(edge, port, nil).GetFilterChains()[0].GetFilters(); len(filters) != 1 {
		t.Errorf("without filters before routing: %v", filters)
	}
	port.Chains[0].Filters = 2
	filters := listener.Listener(edge, port, nil).GetFilterChains()[0].GetFilters()
	if len(filters) != 2 || !proto.Equal(filters[0], filter.CarryPlaces(2)) {
		t.Errorf("with two: %v", filters)
	}
}

// choose finds a chain as Envoy does: the exact name, then the wildcard of one label less, then no name.
func choose(l *listenerv3.Listener, name string) *listenerv3.FilterChain {
	candidates := []string{name}
	for i := range name {
		if name[i] == '.' {
			candidates = append(candidates, "*"+name[i:])
		}
	}
	for _, candidate := range candidates {
		for _, chain := range l.GetFilterChains() {
			if candidate != "" && slices.Contains(chain.GetFilterChainMatch().GetServerNames(), candidate) {
				return chain
			}
		}
	}
	for _, chain := range l.GetFilterChains() {
		if len(chain.GetFilterChainMatch().GetServerNames()) == 0 {
			return chain
		}
	}
	return nil
}

func TestListenerNamesItsCertificates(t *testing.T) {
	t.Parallel()
	chain := listener.Listener(edge, secure(), nil).GetFilterChains()[0]
	var tls tlsv3.DownstreamTlsContext
	if err := chain.GetTransportSocket().GetTypedConfig().UnmarshalTo(&tls); err != nil {
		t.Fatal(err)
	}
	common := tls.GetCommonTlsContext()
	if len(common.GetTlsCertificates()) != 0 {
		t.Error("a key is in the listener")
	}
	var names []string
	for _, secret := range common.GetTlsCertificateSdsSecretConfigs() {
		names = append(names, secret.GetName())
		if !proto.Equal(secret.GetSdsConfig(), wire.ADS()) {
			t.Errorf("%s comes from %v", secret.GetName(), secret.GetSdsConfig())
		}
	}
	if want := []string{"infra/a-rsa", "infra/a-ecdsa"}; !slices.Equal(names, want) {
		t.Errorf("certificates are %v, want %v", names, want)
	}
	if want := []string{"h2", "http/1.1"}; !slices.Equal(common.GetAlpnProtocols(), want) {
		t.Errorf("protocols are %v, want %v", common.GetAlpnProtocols(), want)
	}
}

func TestConnectionManager(t *testing.T) {
	t.Parallel()
	m := manager(t, listener.Listener(edge, plain(), nil).GetFilterChains()[0])
	if m.GetRequestTimeout().AsDuration() != 0 {
		t.Error("a long request is cut off")
	}
	// An empty list would mean all private addresses.
	internal := m.GetInternalAddressConfig().GetCidrRanges()
	if !m.GetUseRemoteAddress().GetValue() || len(internal) != 1 || internal[0].GetAddressPrefix() != "255.255.255.255" ||
		internal[0].GetPrefixLen().GetValue() != 32 {
		t.Error("a client is believed")
	}
	if !m.GetNormalizePath().GetValue() || !m.GetMergeSlashes() {
		t.Error("paths are not normalised as Gateway API needs it")
	}
	if m.GetPathWithEscapedSlashesAction() != hcmv3.HttpConnectionManager_UNESCAPE_AND_REDIRECT {
		t.Errorf("escaped slashes: %s", m.GetPathWithEscapedSlashesAction())
	}
	if !m.GetStripTrailingHostDot() {
		t.Error("a host with a dot at its end is another host")
	}
	if len(m.GetAccessLog()) != 1 {
		t.Error("requests are not logged")
	}
}

func manager(t *testing.T, chain *listenerv3.FilterChain) *hcmv3.HttpConnectionManager {
	t.Helper()
	var m hcmv3.HttpConnectionManager
	if err := chain.GetFilters()[len(chain.GetFilters())-1].GetTypedConfig().UnmarshalTo(&m); err != nil {
		t.Fatal(err)
	}
	return &m
}

func TestSecret(t *testing.T) {
	t.Parallel()
	got := listener.Secret(ir.Certificate{Name: "infra/a", CertificatePEM: []byte("certificate"), PrivateKeyPEM: []byte("key")})
	prototest.Valid(t, got)
	pair := got.GetTlsCertificate()
	if got.GetName() != "infra/a" || string(pair.GetCertificateChain().GetInlineBytes()) != "certificate" ||
		string(pair.GetPrivateKey().GetInlineBytes()) != "key" {
		t.Error("the secret does not hold the pair it was made from")
	}
}
