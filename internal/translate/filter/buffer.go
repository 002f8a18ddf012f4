package filter

import (
	bufferv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/buffer/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// Buffer receives a request as a whole, and does nothing for a route without a policy for it. The filter itself has no setting for that.
const Buffer = "gatewright.buffer"

var buffer = byPolicy(Filter{Name: Buffer, OnDemand: true, Listener: everywhere(&compositev3.Composite{})},
	func(p *ir.RequestPolicy) (proto.Message, bool) {
		if p.BufferLimit == 0 {
			return nil, false
		}
		return runs("envoy.filters.http.buffer", &bufferv3.Buffer{MaxRequestBytes: wrapperspb.UInt32(p.BufferLimit)}), true
	})
