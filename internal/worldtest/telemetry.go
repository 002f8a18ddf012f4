package worldtest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

func (w World) telemetryPolicy() metav1.Object {
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
