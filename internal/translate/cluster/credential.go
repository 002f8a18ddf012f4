package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	credentialinjectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	upstreamcodecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// addCredential adds a credential to requests. Envoy's filter for that takes no configuration from routes. In a composite filter of a route
// it would never ask for its secret: it waits for the server's init manager, which is done by then. As a filter of a cluster it warms up
// with that cluster. It answers 401 as long as there is no secret.
func addCredential(options *upstreamhttpv3.HttpProtocolOptions, c *ir.InjectedCredential) {
	if c == nil {
		return
	}
	options.HttpFilters = []*hcmv3.HttpFilter{
		httpFilter(wire.CredentialInjectorFilter, &credentialinjectorv3.CredentialInjector{
			Overwrite: c.Overwrite,
			Credential: &corev3.TypedExtensionConfig{
				Name: wire.GenericCredential,
				TypedConfig: wire.Any(&genericv3.Generic{
					Header: c.Header, Credential: &tlsv3.SdsSecretConfig{Name: ir.Injected.NameFor(c.Secret), SdsConfig: wire.ADS()},
				}),
			},
		}),
		httpFilter(wire.UpstreamCodecFilter, &upstreamcodecv3.UpstreamCodec{}),
	}
}

func httpFilter(name string, config proto.Message) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(config)}}
}

// addFailoverCredential adds a credential to the requests of a failover. Envoy runs the filters of the cluster that a route names, and not
// those of its members.
func addFailoverCredential(c *clusterv3.Cluster, protocol ir.BackendProtocol, s *ir.DestinationSettings) {
	if s == nil || s.Credential == nil || !isHTTP(protocol) {
		return
	}
	options := httpOptions(protocol)
	addCredential(options, s.Credential)
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{wire.HTTPProtocolOptions: wire.Any(options)}
}
