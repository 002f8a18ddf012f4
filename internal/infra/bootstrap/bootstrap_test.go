package bootstrap

import (
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// parse reads a file of the ConfigMap as Envoy would.
func parse(t *testing.T, files map[string]string, name string, into interface {
	proto.Message
	ValidateAll() error
},
) {
	t.Helper()
	if err := protojson.Unmarshal([]byte(files[name]), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := into.ValidateAll(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func exampleGateway() ir.Gateway {
	return ir.Gateway{
		Name:  ir.Name{Namespace: "shop", Name: "edge"},
		Fleet: ir.Fleet{Name: "edge-gatewright", UID: "11111111-2222-3333-4444-555555555555", Class: "gatewright"},
		Ports: []ir.Port{{Number: 80, Protocol: ir.HTTP}},
	}
}

func exampleOptions() Options {
	return Options{ControlPlane: ControlPlane{Namespace: "gatewright-system"}, MemoryLimit: 1 << 30}
}

// bootstrapOf is what the proxies of a Gateway start with, and all files.
func bootstrapOf(t *testing.T, gateway ir.Gateway, options Options) (*bootstrapv3.Bootstrap, map[string]string) {
	t.Helper()
	files, err := Files(gateway, options)
	if err != nil {
		t.Fatal(err)
	}
	bootstrap := &bootstrapv3.Bootstrap{}
	parse(t, files, ConfigFile, bootstrap)
	return bootstrap, files
}

func exampleBootstrap(t *testing.T, options Options) (*bootstrapv3.Bootstrap, map[string]string) {
	t.Helper()
	return bootstrapOf(t, exampleGateway(), options)
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	bootstrap, _ := exampleBootstrap(t, exampleOptions())
	dynamic := bootstrap.GetDynamicResources()
	waits := func(source *corev3.ConfigSource) bool {
		return source.GetAds() != nil && source.GetInitialFetchTimeout() != nil && source.GetInitialFetchTimeout().AsDuration() == 0
	}
	control := bootstrap.GetStaticResources().GetClusters()[0]
	address := control.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress()
	tests := []struct {
		name string
		ok   bool
	}{
		{"the administration has no port", bootstrap.GetAdmin().GetAddress().GetPipe().GetPath() == "/run/envoy/admin.sock"},
		{"listeners and clusters are waited for without end", waits(dynamic.GetLdsConfig()) && waits(dynamic.GetCdsConfig())},
		{"deltas are asked for", dynamic.GetAdsConfig().GetApiType() == corev3.ApiConfigSource_DELTA_GRPC},
		{"the only listener that binds a port is the ready one", len(bootstrap.GetStaticResources().GetListeners()) == 2 &&
			bootstrap.GetStaticResources().GetListeners()[0].GetAddress().GetSocketAddress().GetPortValue() == ReadyPort &&
			!bootstrap.GetStaticResources().GetListeners()[1].GetBindToPort().GetValue()},
		{"the proxy says that it has an anchor", bootstrap.GetNode().GetMetadata().GetFields()[AnchorMetadata].GetBoolValue()},
		{
			"the control plane is found by its full name",
			address.GetAddress() == "gatewright-xds.gatewright-system.svc.cluster.local" && address.GetPortValue() == 18000,
		},
		{"the control plane is found by DNS", control.GetClusterType().GetName() == wire.DNSCluster},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if !test.ok {
				t.Errorf("not so: %s", bootstrap)
			}
		})
	}
}

func TestControlPlaneIsVerified(t *testing.T) {
	t.Parallel()
	bootstrap, files := exampleBootstrap(t, Options{
		ControlPlane: ControlPlane{Namespace: "gatewright-system", Host: "192.0.2.1", ClusterDomain: "example.org"},
	})
	control := bootstrap.GetStaticResources().GetClusters()[0]
	if control.GetType() != clusterv3.Cluster_STATIC {
		t.Error("an address is looked up in DNS")
	}
	socket := &tlsv3.UpstreamTlsContext{}
	if err := control.GetTransportSocket().GetTypedConfig().UnmarshalTo(socket); err != nil {
		t.Fatal(err)
	}
	tls := socket.GetCommonTlsContext()
	if tls.GetTlsCertificateSdsSecretConfigs() != nil {
		t.Error("the proxy has a certificate")
	}
	sds := tls.GetValidationContextSdsSecretConfig().GetSdsConfig()
	if got := sds.GetPathConfigSource().GetPath(); got != "/etc/envoy/sds-validation.json" {
		t.Errorf("the authorities come from %s", got)
	}

	validation := &tlsv3.Secret{}
	secretIn(t, files, validationSDS, validation)
	context := validation.GetValidationContext()
	if got := context.GetMatchTypedSubjectAltNames()[0].GetMatcher().GetExact(); got != "gatewright-xds.gatewright-system.svc" {
		t.Errorf("the control plane must prove %s", got)
	}
	if context.GetTrustedCa().GetFilename() != "/etc/envoy/ca.crt" || context.GetWatchedDirectory().GetPath() != "/etc/envoy" {
		t.Errorf("the authorities are %v", context)
	}
}

func TestTheTokenIsSentAndWatched(t *testing.T) {
	t.Parallel()
	bootstrap, files := exampleBootstrap(t, exampleOptions())
	options := bootstrap.GetStaticResources().GetClusters()[0].GetTypedExtensionProtocolOptions()
	packed := options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]
	protocol := &upstreamhttpv3.HttpProtocolOptions{}
	injector, credential := &injectorv3.CredentialInjector{}, &genericv3.Generic{}
	if err := packed.UnmarshalTo(protocol); err != nil {
		t.Fatal(err)
	}
	if err := protocol.GetHttpFilters()[0].GetTypedConfig().UnmarshalTo(injector); err != nil {
		t.Fatal(err)
	}
	if err := injector.GetCredential().GetTypedConfig().UnmarshalTo(credential); err != nil {
		t.Fatal(err)
	}
	if injector.GetAllowRequestWithoutCredential() || credential.GetHeader() != "authorization" ||
		credential.GetHeaderValuePrefix() != "Bearer " {
		t.Errorf("calls carry %v", credential)
	}
	token := &tlsv3.Secret{}
	secretIn(t, files, tokenSDS, token)
	source := token.GetGenericSecret().GetSecret()
	const directory = "/var/run/secrets/gatewright.dev/xds"
	if source.GetFilename() != directory+"/token" || source.GetWatchedDirectory().GetPath() != directory {
		t.Errorf("the token comes from %v", source)
	}
	if strings.Contains(files[tokenSDS]+files[validationSDS]+files[ConfigFile], "inline") {
		t.Error("the ConfigMap holds key material")
	}
}

func secretIn(t *testing.T, files map[string]string, name string, secret *tlsv3.Secret) {
	t.Helper()
	response := &discoveryv3.DiscoveryResponse{}
	parse(t, files, name, response)
	if err := response.GetResources()[0].UnmarshalTo(secret); err != nil {
		t.Fatal(err)
	}
	if err := secret.ValidateAll(); err != nil {
		t.Fatal(err)
	}
}

func TestServerNames(t *testing.T) {
	t.Parallel()
	got := ControlPlane{Namespace: "x", ClusterDomain: "example.org"}.ServerNames()
	if len(got) != 2 || got[0] != "gatewright-xds.x.svc" || got[1] != "gatewright-xds.x.svc.example.org" {
		t.Errorf("got %v", got)
	}
}
