package listener

import (
	"cmp"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	preservecasev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/header_formatters/preserve_case/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// The limits of HTTP/2. docs/http.md has the arithmetic: what bounds a proxy's memory is load shedding, not a window.
const (
	// maxConcurrentStreams is Envoy's own default. A gRPC client waits at the limit, for ever if its streams are long.
	maxConcurrentStreams = 1024
	// streamWindow is how much a client may send on a stream before the proxy has passed it on, so it is the most for each round trip. Envoy
	// also buffers that much of an answer for each client that reads slowly.
	streamWindow = 256 * 1024
	// connectionWindow keeps the proportion of Envoy's guide for edge proxies: 16 stalled uploads stop the others of a connection.
	connectionWindow = 16 * streamWindow
)

// noHost stands in for the Host header of an HTTP/1.0 request without one: only routes without hostnames serve it. RFC 2606 reserves
// the name.
const noHost = "http10.invalid"

// http1Options lets old clients in. A connection with an invalid message is closed, which is Envoy's default: what follows cannot be
// trusted.
func http1Options(policy *ir.ClientHTTP1) *corev3.Http1ProtocolOptions {
	options := &corev3.Http1ProtocolOptions{
		AcceptHttp_10:         true,
		DefaultHostForHttp_10: cmp.Or(policy.DefaultHost, noHost),
		EnableTrailers:        policy.Trailers,
		// RFC 9110, 7.8: a server may ignore an offer to switch protocols. Apache HttpClient 5.4 and later offers TLS with each request.
		IgnoreHttp_11Upgrade: []*matcherv3.StringMatcher{{
			MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "TLS/"}, IgnoreCase: true,
		}},
	}
	for _, match := range policy.IgnoredUpgrades {
		options.IgnoreHttp_11Upgrade = append(options.IgnoreHttp_11Upgrade, filter.StringMatch(match))
	}
	if policy.PreserveCase {
		options.HeaderKeyFormat = &corev3.Http1ProtocolOptions_HeaderKeyFormat{
			HeaderFormat: &corev3.Http1ProtocolOptions_HeaderKeyFormat_StatefulFormatter{StatefulFormatter: &corev3.TypedExtensionConfig{
				Name:        "envoy.http.stateful_header_formatters.preserve_case",
				TypedConfig: wire.Any(&preservecasev3.PreserveCaseFormatterConfig{}),
			}},
		}
	}
	return options
}

// http2Options ends only the stream that has an invalid message: a connection may carry the requests of many users.
func http2Options(policy *ir.ClientHTTP2) *corev3.Http2ProtocolOptions {
	options := &corev3.Http2ProtocolOptions{
		MaxConcurrentStreams:        wrapperspb.UInt32(cmp.Or(policy.MaxStreams, maxConcurrentStreams)),
		InitialStreamWindowSize:     wrapperspb.UInt32(cmp.Or(policy.StreamWindow, streamWindow)),
		InitialConnectionWindowSize: wrapperspb.UInt32(cmp.Or(policy.ConnectionWindow, connectionWindow)),

		OverrideStreamErrorOnInvalidHttpMessage: wrapperspb.Bool(!policy.CloseOnInvalid),
	}
	if k := policy.Keepalive; k != nil {
		options.ConnectionKeepalive = &corev3.KeepaliveSettings{Timeout: durationpb.New(cmp.Or(k.Timeout, keepaliveTimeout))}
		if k.Interval > 0 {
			options.ConnectionKeepalive.Interval = durationpb.New(k.Interval)
		}
		if k.Idle > 0 {
			options.ConnectionKeepalive.ConnectionIdleInterval = durationpb.New(k.Idle)
		}
		if k.Jitter != nil {
			options.ConnectionKeepalive.IntervalJitter = &typev3.Percent{Value: float64(*k.Jitter)}
		}
	}
	return options
}

// keepaliveTimeout is how long the answer to a PING frame may take.
const keepaliveTimeout = 10 * time.Second
