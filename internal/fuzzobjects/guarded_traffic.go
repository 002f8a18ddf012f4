package fuzzobjects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// guardedCA has the authority of clients' certificates, in each namespace of [Generator.Guarded].
const guardedCA = "ca"

// trafficGuards adds policies that limit rates, and what asks clients for certificates.
func (w Generator) trafficGuards(gw *gwv1.Gateway, add func(store.Kind, store.Object)) {
	for _, namespace := range namespaces {
		ca := &corev1.ConfigMap{ObjectMeta: w.meta(namespace, guardedCA)}
		ca.Data = map[string]string{corev1.ServiceAccountRootCAKey: string(KeyPairs()[0][0])}
		add(store.ConfigMap, ca)
	}
	for i := range w.IntN(3) {
		add(store.BackendTrafficPolicy, w.limitingPolicy(i))
	}
	switch w.IntN(6) {
	case 0:
		validation := &gwv1.FrontendTLSValidation{CACertificateRefs: []gwv1.ObjectReference{{Kind: "ConfigMap", Name: guardedCA}}}
		gw.Spec.TLS = &gwv1.GatewayTLSConfig{Frontend: &gwv1.FrontendTLSConfig{Default: gwv1.TLSConfig{Validation: validation}}}
	case 1, 2:
		add(store.ClientTrafficPolicy, w.certificatePolicy(gw))
	}
}

// limitingPolicy limits the rate of requests.
func (w Generator) limitingPolicy(i int) *v1alpha1.BackendTrafficPolicy {
	namespace, ref := w.guardedTarget()
	p := &v1alpha1.BackendTrafficPolicy{ObjectMeta: w.meta(namespace, fmt.Sprintf("limit%d", i))}
	p.Spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{ref}
	rules := []v1alpha1.RateLimitRule{{Limit: v1alpha1.RateLimitValue{Requests: 1 << 20, Unit: "Hour"}}}
	p.Spec.RateLimit = pick(w,
		&v1alpha1.RateLimit{Local: &v1alpha1.LocalRateLimit{Rules: rules}},
		&v1alpha1.RateLimit{Global: &v1alpha1.GlobalRateLimit{Rules: rules}})
	return p
}

// certificatePolicy asks the clients of a listener for certificates, or those of all.
func (w Generator) certificatePolicy(gw *gwv1.Gateway) *v1alpha1.ClientTrafficPolicy {
	p := &v1alpha1.ClientTrafficPolicy{ObjectMeta: w.meta("infra", "certificates")}
	ref := gwv1.LocalPolicyTargetReferenceWithSectionName{}
	ref.Group, ref.Kind, ref.Name = gwv1.GroupName, "Gateway", "one"
	if w.coin() {
		ref.SectionName = &gw.Spec.Listeners[w.IntN(len(gw.Spec.Listeners))].Name
	}
	p.Spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{ref}
	p.Spec.TLS = &v1alpha1.ClientTLS{ClientValidation: &v1alpha1.ClientValidation{
		CACertificateRefs: []gwv1.SecretObjectReference{{Kind: new(gwv1.Kind("ConfigMap")), Name: guardedCA}},
	}}
	return p
}
