package listener

import (
	"fmt"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	idleTimeout = time.Hour
	// maxConnectionDuration is when a connection is told to go, however busy. A proxy that is to end shortens it, which is what it is for; so
	// it is long, and no request is cut by it.
	maxConnectionDuration = 7 * 24 * time.Hour
	// streamIdleTimeout ends a stream on which nothing moves. There is no limit on a whole request: a long upload is not an attack.
	streamIdleTimeout     = 5 * time.Minute
	requestHeadersTimeout = 10 * time.Second
)

// connectionManager turns a connection into requests and looks each up in the chain's route table.
// trusted says that the peer is one of the proxies that the policy of the chain trusts.
func connectionManager(port ir.Port, chain ir.Chain, tracing *ir.Tracing, trusted bool) *listenerv3.Filter {
	policy := chain.Client()
	manager := &hcmv3.HttpConnectionManager{
		CodecType:      hcmv3.HttpConnectionManager_AUTO,
		StatPrefix:     statPrefix(port),
		HttpFilters:    filter.Chain(&port, &chain),
		Tracing:        spans(port, tracing),
		AccessLog:      requestLogs(port),
		UpgradeConfigs: []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}},

		ServerHeaderTransformation: hcmv3.HttpConnectionManager_PASS_THROUGH,
	}
	if port.Protocol == ir.QUIC {
		manager.CodecType = hcmv3.HttpConnectionManager_HTTP3
		manager.Http3ProtocolOptions = &corev3.Http3ProtocolOptions{}
	}
	findClient(manager, &policy, trusted)
	findRoutes(manager, chain)
	normalise(manager, &policy)
	limit(manager, &policy)
	forwardCertificates(manager, &policy.Headers)
	if policy.SchemeOfBackend {
		manager.SchemeHeaderTransformation = &corev3.SchemeHeaderTransformation{MatchUpstream: true}
	}
	return &listenerv3.Filter{
		Name:       wire.ConnectionManagerFilter,
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(manager)},
	}
}

// statPrefix is the same for all chains of a port: each prefix costs hundreds of counters.
func statPrefix(port ir.Port) string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(port.Protocol)), port.Number)
}

// normalise gives each path and host one spelling before anything looks at it, so that no rule is passed by. Dot segments are resolved,
// escaped letters decoded, slashes merged. Of an escaped slash it is unknown what the backend takes it for: the client is redirected to
// the plain path. The dot at the end of a host is dropped. A policy can change all but the first two.
func normalise(manager *hcmv3.HttpConnectionManager, policy *ir.ClientPolicy) {
	manager.NormalizePath = wrapperspb.Bool(true)
	manager.MergeSlashes = !policy.Path.KeepSlashes
	manager.PathWithEscapedSlashesAction = escapedSlashes[policy.Path.EscapedSlashes]
	manager.StripTrailingHostDot = !policy.Headers.KeepHostDot
}

var escapedSlashes = map[string]hcmv3.HttpConnectionManager_PathWithEscapedSlashesAction{
	"":                    hcmv3.HttpConnectionManager_UNESCAPE_AND_REDIRECT,
	"KeepUnchanged":       hcmv3.HttpConnectionManager_KEEP_UNCHANGED,
	"RejectRequest":       hcmv3.HttpConnectionManager_REJECT_REQUEST,
	"UnescapeAndRedirect": hcmv3.HttpConnectionManager_UNESCAPE_AND_REDIRECT,
	"UnescapeAndForward":  hcmv3.HttpConnectionManager_UNESCAPE_AND_FORWARD,
}

// underscores says what becomes of headers with an underscore in their names. The standard lets routes match and set them, so they are
// allowed by default.
var underscores = map[string]corev3.HttpProtocolOptions_HeadersWithUnderscoresAction{
	"":              corev3.HttpProtocolOptions_ALLOW,
	"Allow":         corev3.HttpProtocolOptions_ALLOW,
	"RejectRequest": corev3.HttpProtocolOptions_REJECT_REQUEST,
	"DropHeader":    corev3.HttpProtocolOptions_DROP_HEADER,
}

func limit(manager *hcmv3.HttpConnectionManager, policy *ir.ClientPolicy) {
	manager.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{
		IdleTimeout:                  timeout(policy.Timeouts.Idle, idleTimeout),
		MaxConnectionDuration:        timeout(policy.Limits.ConnectionDuration, maxConnectionDuration),
		HeadersWithUnderscoresAction: underscores[policy.Headers.Underscores],
	}
	if own := policy.Limits.ConnectionDuration; own != nil && *own == 0 {
		// Envoy would drain each connection at once.
		manager.CommonHttpProtocolOptions.MaxConnectionDuration = nil
	}
	if policy.Limits.RequestsPerConnection > 0 {
		manager.CommonHttpProtocolOptions.MaxRequestsPerConnection = wrapperspb.UInt32(policy.Limits.RequestsPerConnection)
	}
	if policy.Limits.StreamDuration > 0 {
		manager.CommonHttpProtocolOptions.MaxStreamDuration = durationpb.New(policy.Limits.StreamDuration)
	}
	if policy.Headers.MaxKiB > 0 {
		manager.MaxRequestHeadersKb = wrapperspb.UInt32(policy.Headers.MaxKiB)
	}
	// Only an answer can tell an HTTP/1.1 client: a connection that is closed without one may carry a request that is on its way.
	manager.Http1SafeMaxConnectionDuration = !policy.HTTP1.UnsafeMaxDuration
	manager.HttpProtocolOptions = http1Options(&policy.HTTP1)
	manager.Http2ProtocolOptions = http2Options(&policy.HTTP2)
	manager.StreamIdleTimeout = timeout(policy.Timeouts.StreamIdle, streamIdleTimeout)
	manager.RequestHeadersTimeout = timeout(policy.Timeouts.RequestHeaders, requestHeadersTimeout)
	if policy.Timeouts.Request != nil {
		manager.RequestTimeout = durationpb.New(*policy.Timeouts.Request)
	}
}

// timeout is that of a policy, or the default.
func timeout(own *time.Duration, byDefault time.Duration) *durationpb.Duration {
	if own != nil {
		return durationpb.New(*own)
	}
	return durationpb.New(byDefault)
}

var forwardModes = map[string]hcmv3.HttpConnectionManager_ForwardClientCertDetails{
	"":                  hcmv3.HttpConnectionManager_SANITIZE,
	"Sanitize":          hcmv3.HttpConnectionManager_SANITIZE,
	"ForwardOnly":       hcmv3.HttpConnectionManager_FORWARD_ONLY,
	"AppendForward":     hcmv3.HttpConnectionManager_APPEND_FORWARD,
	"SanitizeSet":       hcmv3.HttpConnectionManager_SANITIZE_SET,
	"AlwaysForwardOnly": hcmv3.HttpConnectionManager_ALWAYS_FORWARD_ONLY,
}

// forwardCertificates tells backends about the certificates of clients.
func forwardCertificates(manager *hcmv3.HttpConnectionManager, headers *ir.ClientHeaders) {
	manager.ForwardClientCertDetails = forwardModes[headers.Forwarded]
	if len(headers.ForwardedDetails) == 0 {
		return
	}
	details := &hcmv3.HttpConnectionManager_SetCurrentClientCertDetails{}
	for _, detail := range headers.ForwardedDetails {
		switch detail {
		case "Subject":
			details.Subject = wrapperspb.Bool(true)
		case "Cert":
			details.Cert = true
		case "Chain":
			details.Chain = true
		case "DNS":
			details.Dns = true
		case "URI":
			details.Uri = true
		}
	}
	manager.SetCurrentClientCertDetails = details
}
