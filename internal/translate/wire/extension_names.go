package wire

// Names under which Envoy registers extensions, where several packages use them. Envoy finds an extension by the type of its
// configuration; its errors and dumps have the name.
const (
	ConnectionManagerFilter  = "envoy.filters.network.http_connection_manager"
	RouterFilter             = "envoy.filters.http.router"
	HealthCheckFilter        = "envoy.filters.http.health_check"
	CredentialInjectorFilter = "envoy.filters.http.credential_injector" //nolint:gosec // a name, not a credential
	UpstreamCodecFilter      = "envoy.filters.http.upstream_codec"
	GenericCredential        = "envoy.http.injected_credentials.generic" //nolint:gosec // a name, not a credential
	HTTPProtocolOptions      = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
	TLSTransportSocket       = "envoy.transport_sockets.tls"
	DNSCluster               = "envoy.cluster.dns"
	CaresResolver            = "envoy.network.dns_resolver.cares"
)
