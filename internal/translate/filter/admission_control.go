package filter

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	admissionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/admission_control/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
)

// AdmissionControl rejects requests while many of them fail, and does nothing for a route without a policy for it. The filter itself takes
// no settings from routes.
const AdmissionControl = "gatewright.admission"

var admissionControl = byPolicy(Filter{Name: AdmissionControl, OnDemand: true, Listener: everywhere(&compositev3.Composite{})},
	func(p *ir.RequestPolicy) (proto.Message, bool) {
		if p.Admission == nil {
			return nil, false
		}
		return runs("envoy.filters.http.admission_control", admission(p.Admission)), true
	})

// runtimeKeys are required, and nothing sets them.
const runtimeKeys = "gatewright.admission."

func admission(a *ir.AdmissionControl) *admissionv3.AdmissionControl {
	criteria := &admissionv3.AdmissionControl_SuccessCriteria{}
	if len(a.Codes) > 0 {
		criteria.HttpCriteria = &admissionv3.AdmissionControl_SuccessCriteria_HttpCriteria{}
		for _, code := range a.Codes {
			first := int32(code) //nolint:gosec // a status
			criteria.HttpCriteria.HttpSuccessStatus = append(criteria.HttpCriteria.HttpSuccessStatus,
				&typev3.Int32Range{Start: first, End: first + 1})
		}
	}
	if len(a.GRPCCodes) > 0 {
		criteria.GrpcCriteria = &admissionv3.AdmissionControl_SuccessCriteria_GrpcCriteria{GrpcSuccessStatus: a.GRPCCodes}
	}
	return &admissionv3.AdmissionControl{
		EvaluationCriteria:      &admissionv3.AdmissionControl_SuccessCriteria_{SuccessCriteria: criteria},
		SamplingWindow:          durationpb.New(a.Window),
		Aggression:              &corev3.RuntimeDouble{DefaultValue: float64(a.Aggression), RuntimeKey: runtimeKeys + "aggression"},
		SrThreshold:             percentage(a.MinSuccess, "min_success"),
		RpsThreshold:            &corev3.RuntimeUInt32{DefaultValue: a.RequestsInSecond, RuntimeKey: runtimeKeys + "min_requests"},
		MaxRejectionProbability: percentage(a.MaxRejection, "max_rejection"),
	}
}

func percentage(value uint32, key string) *corev3.RuntimePercent {
	return &corev3.RuntimePercent{DefaultValue: &typev3.Percent{Value: float64(value)}, RuntimeKey: runtimeKeys + key}
}
