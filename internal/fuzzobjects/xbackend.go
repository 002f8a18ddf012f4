package fuzzobjects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

func (w Generator) xbackend() metav1.Object {
	b := &gwxv1alpha1.XBackend{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "x1", "x2"))}
	b.Spec.Port.Number = pick[gwxv1alpha1.PortNumber](w, 80, 81)
	if w.IntN(3) == 0 {
		b.Spec.Type = gwxv1alpha1.BackendTypeExternalHostname
		b.Spec.ExternalHostname = &gwxv1alpha1.ExternalHostnameBackend{
			Hostname: pick[gwv1.PreciseHostname](w, "out.example.com", "192.0.2.1", "s1.app.svc.cluster.local"),
		}
	} else {
		b.Spec.Type = gwxv1alpha1.BackendTypeEndpointSelector
		b.Spec.EndpointSelector = &gwxv1alpha1.EndpointSelectorBackend{}
		b.Spec.EndpointSelector.MatchLabels = map[gwv1.LabelKey]gwv1.LabelValue{"app": pick[gwv1.LabelValue](w, "a", "b")}
		if w.IntN(3) == 0 {
			b.Spec.SessionPersistence = &gwv1.SessionPersistence{Type: new(pick(
				w, gwv1.CookieBasedSessionPersistence, gwv1.HeaderBasedSessionPersistence,
			))}
		}
	}
	if w.coin() {
		b.Spec.Protocol = new(pick(w, gwxv1alpha1.BackendProtocolHTTP, gwxv1alpha1.BackendProtocolHTTP11, gwxv1alpha1.BackendProtocolHTTP2,
			gwxv1alpha1.BackendProtocolH2C, gwxv1alpha1.BackendProtocolGRPC, gwxv1alpha1.BackendProtocolWSS, gwxv1alpha1.BackendProtocolTCP,
			gwxv1alpha1.BackendProtocolMCP))
	}
	if w.IntN(3) > 0 {
		return b
	}
	b.Spec.TLS = &gwxv1alpha1.BackendTLS{Mode: pick(w, gwxv1alpha1.BackendTLSModeServerOnly, gwxv1alpha1.BackendTLSModeClientAndServer)}
	b.Spec.TLS.Validation = &gwv1.BackendTLSPolicyValidation{Hostname: "out.example.com", CACertificateRefs: []gwv1.LocalObjectReference{{
		Kind: pick[gwv1.Kind](w, "ConfigMap", "ConfigMap", "Other"), Name: pick[gwv1.ObjectName](w, "ca", "other"),
	}}}
	if b.Spec.TLS.Mode == gwxv1alpha1.BackendTLSModeClientAndServer {
		b.Spec.TLS.ClientCertificateRef = &gwv1.SecretObjectReference{
			Name: pick[gwv1.ObjectName](w, "cert", "other"), Namespace: pick(w, nil, new(gwv1.Namespace(pick(w, namespaces...)))),
		}
	}
	return b
}
