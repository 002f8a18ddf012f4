package fuzzobjects

import (
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// service is one of those that routes lead to, or one of the same name elsewhere.
func (w HostileGenerator) service() metav1.Object {
	s := &corev1.Service{ObjectMeta: w.namespaced("s1", "s2", "s3", "s4")}
	s.Spec.Ports = []corev1.ServicePort{
		{Name: "http", Port: 80, AppProtocol: maybe(w, pick(
			w.Generator, "kubernetes.io/h2c", "kubernetes.io/ws", "kubernetes.io/wss", "http", "example.com/x",
		))},
		{Name: "more", Port: 81},
		{Name: "udp", Port: 80, Protocol: corev1.ProtocolUDP},
		{Name: "sctp", Port: 82, Protocol: corev1.ProtocolSCTP},
	}
	if w.IntN(8) == 0 {
		s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Ports: s.Spec.Ports}
	}
	return s
}

func (w HostileGenerator) slice() metav1.Object {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: w.namespaced("e1", "e2", "e3", "e4"), AddressType: pick(
			w.Generator, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN,
		),
		Ports: []discoveryv1.EndpointPort{
			{Name: new("http"), Port: new(pick[int32](w.Generator, 1, 8080, 65535))},
			{Name: new("more")},
			{Name: new("udp"), Port: new(int32(5353)), Protocol: new(corev1.ProtocolUDP)},
			{Port: new(int32(8081))},
		},
	}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: pick(w.Generator, "s1", "s2", "s3")}
	if w.IntN(3) == 0 {
		s.Labels = w.imported()
	}
	for range w.few(100) {
		address := map[discoveryv1.AddressType]string{
			discoveryv1.AddressTypeIPv4: fmt.Sprintf("198.18.%d.%d", w.IntN(3), w.IntN(250)),
			discoveryv1.AddressTypeIPv6: fmt.Sprintf("2001:db8::%x", w.IntN(1000)), discoveryv1.AddressTypeFQDN: "pod.example.com",
		}[s.AddressType]
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{
				Ready: maybe(w, w.coin()), Serving: maybe(w, w.coin()), Terminating: maybe(w, w.coin()),
			},
			Zone: maybe(w, "zone-a"), NodeName: maybe(w, "node"),
		})
	}
	return s
}

func (w HostileGenerator) secret() metav1.Object {
	s := &corev1.Secret{ObjectMeta: w.namespaced("cert", "other", "third", "users"), Type: corev1.SecretTypeTLS}
	if s.Name == "users" {
		w.credentials(s)
		return s
	}
	pair := pick(w.Generator, HostileKeyPairs()...)
	s.Data = map[string][]byte{
		corev1.TLSCertKey: slices.Clone(pair.Certificate), corev1.TLSPrivateKeyKey: slices.Clone(pair.Key),
		corev1.ServiceAccountRootCAKey: pick(w.Generator, HostileBundles()...).PEM,
		v1alpha1.CRLKey:                pick(w.Generator, HostileRevocations()...).PEM,
	}
	return s
}

func (w HostileGenerator) configMap() metav1.Object {
	c := &corev1.ConfigMap{ObjectMeta: w.namespaced("ca", "other")}
	c.Data = map[string]string{corev1.ServiceAccountRootCAKey: string(pick(w.Generator, HostileBundles()...).PEM)}
	// What is not UTF-8 is in the other field.
	c.BinaryData = map[string][]byte{v1alpha1.CRLKey: pick(w.Generator, HostileRevocations()...).PEM}
	if w.coin() {
		c.Data[store.ResponseBodyKey] = w.text(hostileHeaderValues)
		c.Data[store.LuaKey] = pick(w.Generator, hostileScripts...)
	}
	return c
}

func (w HostileGenerator) clusterTrustBundle() metav1.Object {
	b := &certificatesv1.ClusterTrustBundle{ObjectMeta: w.meta("", pick(w.Generator, "ca", "other"))}
	b.Spec.TrustBundle = string(pick(w.Generator, HostileBundles()...).PEM)
	return b
}

func (w HostileGenerator) backendTLSPolicy() metav1.Object {
	p := &gwv1.BackendTLSPolicy{ObjectMeta: w.namespaced("p1", "p2", "p3")}
	target := gwv1.LocalPolicyTargetReferenceWithSectionName{SectionName: maybe(w, pick[gwv1.SectionName](w.Generator, "http", "more"))}
	target.Kind, target.Name = "Service", pick[gwv1.ObjectName](w.Generator, "s1", "s2", "s3")
	p.Spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{target}
	p.Spec.Validation = w.validation()
	return p
}

// xbackend takes the tame one and makes its parts odd.
func (w HostileGenerator) xbackend() metav1.Object {
	b, ok := w.Generator.xbackend().(*gwxv1alpha1.XBackend)
	if !ok {
		return nil
	}
	b.ObjectMeta = w.namespaced("x1", "x2")
	b.Spec.Port.Number = gwxv1alpha1.PortNumber(w.port())
	if b.Spec.ExternalHostname != nil {
		b.Spec.ExternalHostname.Hostname = gwv1.PreciseHostname(w.hostname())
	}
	if b.Spec.EndpointSelector != nil {
		b.Spec.SessionPersistence = w.session()
	}
	if b.Spec.TLS != nil {
		b.Spec.TLS.Validation = new(w.validation())
	}
	return b
}

func (w HostileGenerator) validation() gwv1.BackendTLSPolicyValidation {
	var validation gwv1.BackendTLSPolicyValidation
	validation.Hostname = gwv1.PreciseHostname(w.hostname())
	for range w.few(5) {
		name := gwv1.SubjectAltName{Type: gwv1.HostnameSubjectAltNameType, Hostname: gwv1.Hostname(w.hostname())}
		if w.coin() {
			name = gwv1.SubjectAltName{Type: gwv1.URISubjectAltNameType, URI: pick[gwv1.AbsoluteURI](w.Generator,
				"spiffe://a/b", "https://ü/%zz", "a://", "x:// \n", "mailto://a@b?c#d")}
		}
		validation.SubjectAltNames = append(validation.SubjectAltNames, name)
	}
	if w.IntN(4) == 0 {
		validation.WellKnownCACertificates = new(gwv1.WellKnownCACertificatesSystem)
		return validation
	}
	for range 1 + w.few(8) {
		validation.CACertificateRefs = append(validation.CACertificateRefs, gwv1.LocalObjectReference{
			Kind: pick[gwv1.Kind](w.Generator, "ConfigMap", "ConfigMap", "Secret"), Name: pick[gwv1.ObjectName](w.Generator, "ca", "other", "cert"),
		})
	}
	return validation
}

func (w HostileGenerator) backendTrafficPolicy() metav1.Object {
	p := &gwxv1alpha1.XBackendTrafficPolicy{ObjectMeta: w.namespaced("t1", "t2")}
	p.Spec.TargetRefs = []gwv1.LocalPolicyTargetReference{{Kind: "Service", Name: pick[gwv1.ObjectName](w.Generator, "s1", "s2")}}
	p.Spec.RetryConstraint = &gwxv1alpha1.RetryConstraint{
		Budget: &gwxv1alpha1.BudgetDetails{Percent: maybe(w, pick(w.Generator, 0, 1, 20, 100)), Interval: w.duration()},
	}
	if w.coin() {
		p.Spec.RetryConstraint.MinRetryRate = &gwxv1alpha1.RequestRate{Count: maybe(w, pick(
			w.Generator, 1, 10, 1_000_000,
		)), Interval: w.duration()}
	}
	return p
}
