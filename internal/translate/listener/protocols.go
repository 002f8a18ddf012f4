package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
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
func http1Options() *corev3.Http1ProtocolOptions {
	return &corev3.Http1ProtocolOptions{
		AcceptHttp_10:         true,
		DefaultHostForHttp_10: noHost,
		// RFC 9110, 7.8: a server may ignore an offer to switch protocols. Apache HttpClient 5.4 and later offers TLS with each request.
		IgnoreHttp_11Upgrade: []*matcherv3.StringMatcher{{
			MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "TLS/"}, IgnoreCase: true,
		}},
	}
}

// http2Options ends only the stream that has an invalid message: a connection may carry the requests of many users.
func http2Options() *corev3.Http2ProtocolOptions {
	return &corev3.Http2ProtocolOptions{
		MaxConcurrentStreams:        wrapperspb.UInt32(maxConcurrentStreams),
		InitialStreamWindowSize:     wrapperspb.UInt32(streamWindow),
		InitialConnectionWindowSize: wrapperspb.UInt32(connectionWindow),

		OverrideStreamErrorOnInvalidHttpMessage: wrapperspb.Bool(true),
	}
}
