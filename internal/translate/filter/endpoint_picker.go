package filter

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// EndpointPicker asks the endpoint picker of an InferencePool where a request is to go, and tells it where it went. It does nothing for a
// backend without one. Each backend of a rule has its own.
const EndpointPicker = "gatewright.endpoint_picker"

const (
	faultName = "envoy.filters.http.fault"
	million   = 1_000_000
)

var endpointPicker = Filter{
	Name: EndpointPicker, OnDemand: true,
	Listener: everywhere(composite),
	Backend: func(backend *ir.WeightedBackend) (proto.Message, bool) {
		if backend.Picker == nil {
			return nil, false
		}
		all := []run{{HideEnvoy, withoutDestination}}
		switch p := backend.Picker; {
		case !p.Broken:
			all = append(all, run{extProcName, askPicker(p)})
		case !p.FailOpen:
			all = append(all, run{faultName, unavailable})
		}
		return runsAll(all), true
	},
}

// unavailable answers each request 503: there is no picker that could decide.
var unavailable = &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{
	ErrorType: &faultv3.FaultAbort_HttpStatus{HttpStatus: serviceUnavailable}, Percentage: millionth(million),
}}

// withoutDestination removes what a client says of the destination: only the picker has a say.
var withoutDestination = &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
	RequestMutations: []*mutationv3.HeaderMutation{{
		Action: &mutationv3.HeaderMutation_Remove{Remove: ir.DestinationEndpoint},
	}},
}}

// askPicker is what the endpoint picker protocol asks for: requests and responses are streamed both ways. It is the load balancing of the
// cluster that reads the answer, and that finds no address but those of the pool.
func askPicker(p *ir.EndpointPicker) proto.Message {
	return extProc(&ir.ExtProc{
		Backend: p.Backend, FailOpen: p.FailOpen, StatusOnError: serviceUnavailable,
		Request: &ir.ExtProcMessage{Body: ir.BodyFullDuplex}, Response: &ir.ExtProcMessage{Body: ir.BodyFullDuplex},
		Accessible: []string{ir.DestinationMetadata, ir.SubsetMetadata}, Writable: []string{ir.DestinationMetadata},
	})
}
