package render

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

// TokenAudience is what the tokens are made for by which proxies, and replicas of the control plane, prove who they are to the xDS servers.
const TokenAudience = "gatewright.dev/xds" //nolint:gosec // a name, not a credential

const (
	// tokenSeconds is how long a token lives. A kubelet replaces it in the last fifth of its life.
	tokenSeconds = 3600
	tokenPath    = "token"
	tokenName    = "xds-token"
)

// tokenVolume is where the kubelet keeps a token of the fleet's ServiceAccount, bound to the pod, up to date.
func tokenVolume() *applycorev1.VolumeApplyConfiguration {
	return applycorev1.Volume().WithName("token").WithProjected(applycorev1.ProjectedVolumeSource().
		WithDefaultMode(0o440).
		WithSources(applycorev1.VolumeProjection().WithServiceAccountToken(applycorev1.ServiceAccountTokenProjection().
			WithAudience(TokenAudience).
			WithExpirationSeconds(tokenSeconds).
			WithPath(tokenPath))))
}

// tokenFilters put the token on each call to the control plane. They stand in the cluster, where calls of Envoy itself pass too.
func tokenFilters() ([]*hcmv3.HttpFilter, error) {
	credential, err := pack(&genericv3.Generic{Credential: fromFile(tokenName, tokenFile), Header: "authorization", HeaderValuePrefix: "Bearer "})
	if err != nil {
		return nil, err
	}
	injector, err := filter("envoy.filters.http.credential_injector", &injectorv3.CredentialInjector{
		Overwrite:  true,
		Credential: &corev3.TypedExtensionConfig{Name: "envoy.http.injected_credentials.generic", TypedConfig: credential},
	})
	if err != nil {
		return nil, err
	}
	codec, err := filter("envoy.filters.http.upstream_codec", &codecv3.UpstreamCodec{})
	if err != nil {
		return nil, err
	}
	return []*hcmv3.HttpFilter{injector, codec}, nil
}

// tokenSecret points at the token, which is read again whenever the kubelet replaces it.
func tokenSecret() (*discoveryv3.DiscoveryResponse, error) {
	return respond(&tlsv3.Secret{Name: tokenName, Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{
		Secret: &corev3.DataSource{
			Specifier:        &corev3.DataSource_Filename{Filename: tokenDirectory + "/" + tokenPath},
			WatchedDirectory: &corev3.WatchedDirectory{Path: tokenDirectory},
		},
	}}})
}
