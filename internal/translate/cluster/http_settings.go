package cluster

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// applyHTTPSettings replaces the defaults of connections of HTTP.
func applyHTTPSettings(options *upstreamhttpv3.HttpProtocolOptions, s *ir.DestinationSettings) {
	if s == nil {
		return
	}
	addCredential(options, s.Credential)
	common := options.GetCommonHttpProtocolOptions()
	if s.IdleTimeout != nil {
		common.IdleTimeout = durationpb.New(*s.IdleTimeout)
	}
	if s.MaxDuration != nil && *s.MaxDuration > 0 {
		common.MaxConnectionDuration = durationpb.New(*s.MaxDuration)
	}
	if s.CircuitBreaker != nil && s.CircuitBreaker.PerConnection > 0 {
		common.MaxRequestsPerConnection = wrapperspb.UInt32(s.CircuitBreaker.PerConnection)
	}
	explicit := options.GetExplicitHttpConfig()
	if s.ClientProtocol != nil && *s.ClientProtocol {
		http2 := explicit.GetHttp2ProtocolOptions()
		if http2 == nil {
			http2 = http2Options(ir.BackendHTTP2)
		}
		options.UpstreamProtocolOptions = &upstreamhttpv3.HttpProtocolOptions_UseDownstreamProtocolConfig{
			UseDownstreamProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_UseDownstreamHttpConfig{
				HttpProtocolOptions: &corev3.Http1ProtocolOptions{}, Http2ProtocolOptions: http2,
			},
		}
		applyHTTP2Settings(http2, s.HTTP2)
		return
	}
	if http2 := explicit.GetHttp2ProtocolOptions(); http2 != nil {
		applyHTTP2Settings(http2, s.HTTP2)
	}
}

func applyHTTP2Settings(options *corev3.Http2ProtocolOptions, s *ir.HTTP2Settings) {
	if s == nil {
		return
	}
	if s.StreamWindow > 0 {
		options.InitialStreamWindowSize = wrapperspb.UInt32(s.StreamWindow)
	}
	if s.ConnectionWindow > 0 {
		options.InitialConnectionWindowSize = wrapperspb.UInt32(s.ConnectionWindow)
	}
	if s.MaxStreams > 0 {
		options.MaxConcurrentStreams = wrapperspb.UInt32(s.MaxStreams)
	}
	if s.CloseOnInvalid {
		options.OverrideStreamErrorOnInvalidHttpMessage = wrapperspb.Bool(false)
	}
	if k := s.Keepalive; k != nil {
		options.ConnectionKeepalive = connectionKeepalive(k)
	}
}

// connectionKeepalive sends PINGs.
func connectionKeepalive(k *ir.HTTP2Keepalive) *corev3.KeepaliveSettings {
	const usualTimeout = 5
	settings := &corev3.KeepaliveSettings{Timeout: &durationpb.Duration{Seconds: usualTimeout}}
	if k.Timeout > 0 {
		settings.Timeout = durationpb.New(k.Timeout)
	}
	if k.Interval > 0 {
		settings.Interval = durationpb.New(k.Interval)
	}
	if k.Idle > 0 {
		settings.ConnectionIdleInterval = durationpb.New(k.Idle)
	}
	if k.Jitter != nil {
		settings.IntervalJitter = &typev3.Percent{Value: float64(*k.Jitter)}
	}
	return settings
}
