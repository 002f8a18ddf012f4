package client

import (
	"slices"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/store"
)

// Spec has the settings of a policy. Its targets do not count.
type Spec = v1alpha1.ClientTrafficPolicySpec

// Policy is a ClientTrafficPolicy, whether or not it is the one that decides.
type Policy = attach.Policy[Spec]

// socketSettings are about how connections are accepted, before it is known which listener they are for. All listeners of a port share
// them.
var socketSettings = []string{
	"tcpKeepalive", "proxyProtocol",
	"connection.bufferLimit", "connection.socketBufferLimit", "connection.maxAcceptPerSocketEvent",
	"timeout.tcp.connectionInspectionTimeout",
	"tls.fingerprints",
}

// chainSettings are about the connections and requests of one listener. Listeners of HTTP that have the same port share them too: what they
// differ in is the Host header of a request.
var chainSettings = []string{
	"clientIPDetection",
	"tls.minVersion", "tls.maxVersion", "tls.ciphers", "tls.ecdhCurves", "tls.signatureAlgorithms", "tls.alpnProtocols",
	"tls.clientValidation", "tls.session",
	"path.escapedSlashesAction", "path.disableMergeSlashes",
	"headers.enableEnvoyHeaders", "headers.xForwardedClientCert", "headers.withUnderscoresAction",
	"headers.preserveXRequestID", "headers.requestID", "headers.earlyRequestHeaders", "headers.lateResponseHeaders", "headers.host",
	"headers.maxRequestHeaderLimit",
	"timeout.tcp.idleTimeout", "timeout.tcp.tlsHandshakeTimeout",
	"timeout.http.requestReceivedTimeout", "timeout.http.requestHeadersReceivedTimeout", "timeout.http.idleTimeout",
	"timeout.http.streamIdleTimeout",
	"connection.connectionLimit",
	"http1.enableTrailers", "http1.preserveHeaderCase", "http1.http10", "http1.disableSafeMaxConnectionDuration", "http1.ignoredUpgradeTypes",
	"http2.initialStreamWindowSize", "http2.initialConnectionWindowSize", "http2.maxConcurrentStreams", "http2.onInvalidMessage",
	"http2.connectionKeepalive",
	"http3", "grpc.enableWeb", "healthCheck", "scheme",
}

// Kind is how ClientTrafficPolicies attach and merge.
var Kind = attach.Kind[Spec]{
	Name:         string(store.ClientTrafficPolicy),
	Targets:      []attach.TargetKind{attach.GatewayClasses, attach.Gateways, attach.ListenerSets},
	Settings:     attach.Fields[Spec](slices.Concat(socketSettings, chainSettings)...),
	ResolvedRefs: true,
	Inherited:    true,
}
