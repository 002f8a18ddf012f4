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

const connectionManagerName = "envoy.filters.network.http_connection_manager"

// connectionManager turns a connection into requests and looks each up in the chain's route table.
func connectionManager(port ir.Port, chain ir.Chain, tracing *ir.Tracing) *listenerv3.Filter {
	manager := &hcmv3.HttpConnectionManager{
		CodecType:      hcmv3.HttpConnectionManager_AUTO,
		StatPrefix:     statPrefix(port),
		HttpFilters:    filter.Chain(&port, &chain),
		Tracing:        spans(port, tracing),
		AccessLog:      requestLogs(port),
		UpgradeConfigs: []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}},

		GenerateRequestId: wrapperspb.Bool(true),
		// The identity is a new one, whatever the client sent, and the client is told it: it is in the access log and in what backends get.
		AlwaysSetRequestIdInResponse: true,

		ServerHeaderTransformation: hcmv3.HttpConnectionManager_PASS_THROUGH,
	}
	trustNobody(manager)
	findRoutes(manager, chain)
	normalise(manager)
	limit(manager)
	return &listenerv3.Filter{
		Name:       connectionManagerName,
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(manager)},
	}
}

// statPrefix is the same for all chains of a port: each prefix costs hundreds of counters.
func statPrefix(port ir.Port) string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(port.Protocol)), port.Number)
}

// normalise gives each path and host one spelling before anything looks at it, so that no rule is passed by. Dot segments are resolved,
// escaped letters decoded, slashes merged. Of an escaped slash nobody knows what the backend takes it for: the client is redirected to
// the plain path. The dot at the end of a host is dropped.
func normalise(manager *hcmv3.HttpConnectionManager) {
	manager.NormalizePath = wrapperspb.Bool(true)
	manager.MergeSlashes = true
	manager.PathWithEscapedSlashesAction = hcmv3.HttpConnectionManager_UNESCAPE_AND_REDIRECT
	manager.StripTrailingHostDot = true
}

func limit(manager *hcmv3.HttpConnectionManager) {
	manager.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{
		IdleTimeout:           durationpb.New(idleTimeout),
		MaxConnectionDuration: durationpb.New(maxConnectionDuration),
		// Header names may hold underscores: the standard lets routes match and set them.
		HeadersWithUnderscoresAction: corev3.HttpProtocolOptions_ALLOW,
	}
	// Only an answer can tell an HTTP/1.1 client: a connection that is closed without one may carry a request that is on its way.
	manager.Http1SafeMaxConnectionDuration = true
	manager.HttpProtocolOptions = http1Options()
	manager.Http2ProtocolOptions = http2Options()
	manager.StreamIdleTimeout = durationpb.New(streamIdleTimeout)
	manager.RequestHeadersTimeout = durationpb.New(requestHeadersTimeout)
}
