package fuzzobjects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

func (w Generator) backendTLSPolicy() metav1.Object {
	p := &gwv1.BackendTLSPolicy{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "p1", "p2", "p3"))}
	for range 1 + w.IntN(2) {
		var target gwv1.LocalPolicyTargetReferenceWithSectionName
		target.Kind, target.Name = pick[gwv1.Kind](w, "Service", "Service", "Other"), pick[gwv1.ObjectName](w, "s1", "s2")
		if w.IntN(4) == 0 {
			target.Group, target.Kind, target.Name = mcsv1beta1.GroupName, "ServiceImport", pick[gwv1.ObjectName](w, "i1", "i2")
		}
		if w.coin() {
			target.SectionName = new(pick[gwv1.SectionName](w, "http", "more", "none"))
		}
		p.Spec.TargetRefs = append(p.Spec.TargetRefs, target)
	}
	p.Spec.Validation.Hostname = pick[gwv1.PreciseHostname](w, "a.example.com", "b.example.com")
	if w.IntN(4) == 0 {
		p.Spec.Validation.WellKnownCACertificates = new(pick(w, gwv1.WellKnownCACertificatesSystem, "example.com/unknown"))
		return p
	}
	for range 1 + w.IntN(2) {
		p.Spec.Validation.CACertificateRefs = append(p.Spec.Validation.CACertificateRefs, gwv1.LocalObjectReference{
			Kind: pick[gwv1.Kind](w, "ConfigMap", "ConfigMap", "Secret", "Other"), Name: pick[gwv1.ObjectName](w, "ca", "other"),
		})
	}
	return p
}

func (w Generator) backendTrafficPolicy() metav1.Object {
	p := &gwxv1alpha1.XBackendTrafficPolicy{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "t1", "t2"))}
	for range 1 + w.IntN(2) {
		p.Spec.TargetRefs = append(p.Spec.TargetRefs, gwv1.LocalPolicyTargetReference{
			Group: pick[gwv1.Group](w, "", "", gwxv1alpha1.GroupName),
			Kind:  pick[gwv1.Kind](w, "Service", "Service", "XBackend"), Name: pick[gwv1.ObjectName](w, "s1", "s2", "x1"),
		})
	}
	if w.coin() {
		p.Spec.RetryConstraint = &gwxv1alpha1.RetryConstraint{Budget: &gwxv1alpha1.BudgetDetails{Percent: new(w.IntN(100))}}
	}
	if w.IntN(8) == 0 {
		p.Spec.SessionPersistence = &gwv1.SessionPersistence{} //nolint:staticcheck // deprecated in the standard, and still answered
	}
	return p
}
