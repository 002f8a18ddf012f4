package fuzzobjects

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
)

func (w Generator) telemetryPolicy() metav1.Object {
	p := &gwxv1alpha1.XTelemetryPolicy{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "t1", "t2"))}
	for range 1 + w.IntN(2) {
		p.Spec.TargetRefs = append(p.Spec.TargetRefs, gwv1.LocalObjectReference{
			Group: gwv1.GroupName, Kind: pick[gwv1.Kind](w, "Gateway", "Gateway", "HTTPRoute"), Name: pick[gwv1.ObjectName](w, "one", "two"),
		})
	}
	p.Spec.Tracing.Mode = pick(w, gwxv1alpha1.TracingModeEnabled, gwxv1alpha1.TracingModeEnabled, gwxv1alpha1.TracingModeDisabled)
	p.Spec.Tracing.Provider.BackendRef = w.backend().BackendObjectReference
	p.Spec.Tracing.SamplingRate = pick(w, nil, &gwv1.Fraction{Numerator: 5}, &gwv1.Fraction{Numerator: 150})
	p.Spec.Tracing.ParentBasedSampling.Mode = pick(w, gwxv1alpha1.ParentBasedSamplingModeEnabled, gwxv1alpha1.ParentBasedSamplingModeDisabled)
	p.Spec.Tracing.ParentBasedSampling.SamplingRate = pick(w, nil, &gwv1.Fraction{Numerator: 1, Denominator: new(int32(3))})
	p.Spec.Tracing.Attributes = []gwxv1alpha1.Attribute{
		{Name: "env", SourceType: gwxv1alpha1.AttributeSourceLiteral, LiteralValue: "test"},
		{Name: "known", SourceType: gwxv1alpha1.AttributeSourceAttribute, AttributeKey: pick(w, "url.path", "gen_ai.tool.name")},
	}
	return p
}

func (w HostileGenerator) telemetryPolicy() metav1.Object {
	p := &gwxv1alpha1.XTelemetryPolicy{ObjectMeta: w.meta(HostileGateway.Namespace, "t")}
	p.Spec.TargetRefs = []gwv1.LocalObjectReference{{Group: gwv1.GroupName, Kind: "Gateway", Name: gwv1.ObjectName(HostileGateway.Name)}}
	fraction := func() *gwv1.Fraction {
		return pick(w.Generator, nil, &gwv1.Fraction{Numerator: w.Int32N(200), Denominator: pick(w.Generator, nil, new(1+w.Int32N(200)))})
	}
	p.Spec.Tracing = gwxv1alpha1.TracingConfig{
		Mode: gwxv1alpha1.TracingModeEnabled,
		Provider: gwxv1alpha1.TracingProvider{BackendRef: w.target(), Headers: []gwv1.HTTPHeader{{
			Name: gwv1.HTTPHeaderName(w.token()), Value: w.value(),
		}}},
		SamplingRate: fraction(),
		ServiceName:  pick(w.Generator, "", "shop", "a/b:c"),
		SpanName:     pick(w.Generator, "", "edge", "GET /x"),
		ParentBasedSampling: gwxv1alpha1.ParentBasedSampling{
			Mode: pick(
				w.Generator, gwxv1alpha1.ParentBasedSamplingModeEnabled, gwxv1alpha1.ParentBasedSamplingModeDisabled,
			), SamplingRate: fraction(),
		},
	}
	if p.Spec.Tracing.ParentBasedSampling.Mode != gwxv1alpha1.ParentBasedSamplingModeEnabled {
		p.Spec.Tracing.ParentBasedSampling.SamplingRate = nil
	}
	keys := append(
		slices.Clone(ir.SpanKeys), ir.RequestHeaderKey+"x", ir.RequestHeaderKey+"a.b_c", ir.ResponseHeaderKey+"-", ir.RequestHeaderKey,
		"gen_ai.tool.name", ".",
	)
	for i := range w.few(8) {
		a := gwxv1alpha1.Attribute{Name: gwxv1alpha1.AttributeName(fmt.Sprintf("a/%d:x", i))}
		switch w.IntN(3) {
		case 0:
			a.SourceType, a.LiteralValue = gwxv1alpha1.AttributeSourceLiteral, pick(w.Generator, "100%", "%BOGUS(%", "x\ny", "\u00e9")
		case 1:
			a.SourceType, a.HeaderName = gwxv1alpha1.AttributeSourceHeader, gwv1.HTTPHeaderName(w.token())
		default:
			a.SourceType, a.AttributeKey = gwxv1alpha1.AttributeSourceAttribute, pick(w.Generator, keys...)
		}
		p.Spec.Tracing.Attributes = append(p.Spec.Tracing.Attributes, a)
	}
	return p
}
