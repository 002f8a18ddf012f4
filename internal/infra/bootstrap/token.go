package bootstrap

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// tokenName is the name of the secret with the token.
const tokenName = "xds-token"

// tokenFilters add the token to each call to the control plane. They are filters of the cluster, which Envoy's own calls pass too.
func tokenFilters() ([]*hcmv3.HttpFilter, error) {
	credential, err := pack(&genericv3.Generic{
		Credential: fromFile(tokenName, tokenSDS), Header: "authorization", HeaderValuePrefix: "Bearer ",
	})
	if err != nil {
		return nil, err
	}
	injector, err := filter(wire.CredentialInjectorFilter, &injectorv3.CredentialInjector{
		Overwrite:  true,
		Credential: &corev3.TypedExtensionConfig{Name: wire.GenericCredential, TypedConfig: credential},
	})
	if err != nil {
		return nil, err
	}
	codec, err := filter(wire.UpstreamCodecFilter, &codecv3.UpstreamCodec{})
	if err != nil {
		return nil, err
	}
	return []*hcmv3.HttpFilter{injector, codec}, nil
}

// tokenSecret refers to the token. Envoy reads it again when the kubelet replaces it.
func tokenSecret() (*discoveryv3.DiscoveryResponse, error) {
	return respond(&tlsv3.Secret{Name: tokenName, Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{
		Secret: &corev3.DataSource{
			Specifier:        &corev3.DataSource_Filename{Filename: TokenDirectory + "/" + TokenFile},
			WatchedDirectory: &corev3.WatchedDirectory{Path: TokenDirectory},
		},
	}}})
}
