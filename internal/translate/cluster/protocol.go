package cluster

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// idleTimeout closes a pooled connection before most servers would: the side that closes second answers 503 to the request just sent.
	idleTimeout = time.Minute

	// streamWindow is as large as that of clients, so that an answer from far away is not slower than a request from far away.
	streamWindow = 256 * 1024
	// connectionWindow is for many streams of different clients: each client that reads slowly holds up to one stream window of it, and when
	// none is left, all clients of the connection wait.
	connectionWindow = 64 * streamWindow

	// pickerPing is how often an endpoint picker is asked for a sign of life, and how long it has for it: Envoy has no timeout for what it
	// decides.
	pickerPing = 5 * time.Second
)

func httpOptions(protocol ir.BackendProtocol) *upstreamhttpv3.HttpProtocolOptions {
	options := &upstreamhttpv3.HttpProtocolOptions{
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(idleTimeout)},
	}
	explicit := &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{}
	if protocol.IsHTTP2() {
		explicit.ProtocolConfig = &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
			Http2ProtocolOptions: http2Options(protocol),
		}
	} else {
		explicit.ProtocolConfig = &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{
			HttpProtocolOptions: &corev3.Http1ProtocolOptions{},
		}
	}
	options.UpstreamProtocolOptions = &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: explicit}
	return options
}

func http2Options(protocol ir.BackendProtocol) *corev3.Http2ProtocolOptions {
	options := &corev3.Http2ProtocolOptions{
		InitialStreamWindowSize:     wrapperspb.UInt32(streamWindow),
		InitialConnectionWindowSize: wrapperspb.UInt32(connectionWindow),
		// An invalid answer ends its own stream. The others of the connection are of other clients.
		OverrideStreamErrorOnInvalidHttpMessage: wrapperspb.Bool(true),
	}
	if protocol == ir.BackendPicker {
		options.ConnectionKeepalive = &corev3.KeepaliveSettings{Interval: durationpb.New(pickerPing), Timeout: durationpb.New(pickerPing)}
	}
	return options
}
