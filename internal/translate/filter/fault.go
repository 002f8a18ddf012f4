package filter

import (
	faultcommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
)

// Fault delays or aborts requests, and does nothing for a route without a policy for it. The filter that ends loops has Envoy's own name.
const Fault = "gatewright.fault"

var fault = byPolicy(Filter{Name: Fault, OnDemand: true, Listener: everywhere(&faultv3.HTTPFault{})},
	func(p *ir.RequestPolicy) (proto.Message, bool) {
		if p.Fault == nil {
			return nil, false
		}
		return httpFault(p.Fault), true
	})

func httpFault(f *ir.Fault) *faultv3.HTTPFault {
	config := &faultv3.HTTPFault{}
	if f.Delay > 0 {
		config.Delay = &faultcommonv3.FaultDelay{
			FaultDelaySecifier: &faultcommonv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(f.Delay)}, Percentage: millionth(f.DelayPart),
		}
	}
	abort := &faultv3.FaultAbort{Percentage: millionth(f.AbortPart)}
	switch {
	case f.GRPCStatus != nil:
		abort.ErrorType, config.Abort = &faultv3.FaultAbort_GrpcStatus{GrpcStatus: *f.GRPCStatus}, abort
	case f.HTTPStatus > 0:
		abort.ErrorType, config.Abort = &faultv3.FaultAbort_HttpStatus{HttpStatus: f.HTTPStatus}, abort
	}
	return config
}

func millionth(part uint32) *typev3.FractionalPercent {
	return &typev3.FractionalPercent{Numerator: part, Denominator: typev3.FractionalPercent_MILLION}
}
