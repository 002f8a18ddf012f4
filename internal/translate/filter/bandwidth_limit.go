package filter

import (
	bandwidthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/bandwidth_limit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// RequestBandwidth and ResponseBandwidth bound the bytes of bodies, and do nothing for a route without a policy for it. They are two,
// because Envoy's filter has one limit for both directions.
const (
	RequestBandwidth  = "gatewright.bandwidth.request"
	ResponseBandwidth = "gatewright.bandwidth.response"
)

const bandwidthStats = "http_bandwidth_limiter"

var requestBandwidth = byPolicy(Filter{
	Name: RequestBandwidth, OnDemand: true, Listener: everywhere(&bandwidthv3.BandwidthLimit{StatPrefix: bandwidthStats}),
}, func(p *ir.RequestPolicy) (proto.Message, bool) {
	if p.Bandwidth == nil || p.Bandwidth.Request == 0 {
		return nil, false
	}
	return &bandwidthv3.BandwidthLimit{
		StatPrefix: bandwidthStats, EnableMode: bandwidthv3.BandwidthLimit_REQUEST, LimitKbps: wrapperspb.UInt64(p.Bandwidth.Request),
	}, true
})

var responseBandwidth = byPolicy(Filter{
	Name: ResponseBandwidth, OnDemand: true, Listener: everywhere(&bandwidthv3.BandwidthLimit{StatPrefix: bandwidthStats}),
}, func(p *ir.RequestPolicy) (proto.Message, bool) {
	if p.Bandwidth == nil || p.Bandwidth.Response == 0 {
		return nil, false
	}
	return &bandwidthv3.BandwidthLimit{
		StatPrefix: bandwidthStats, EnableMode: bandwidthv3.BandwidthLimit_RESPONSE, LimitKbps: wrapperspb.UInt64(p.Bandwidth.Response),
		EnableResponseTrailers: p.Bandwidth.Trailers, ResponseTrailerPrefix: p.Bandwidth.TrailerPrefix,
	}, true
})
