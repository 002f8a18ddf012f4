package gateway

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// clientCertificate follows spec.tls.backend to the key pair that proxies show to backends. A reference that leads nowhere does not stop the
// Gateway: proxies then show nothing, and a backend that insists refuses them.
func clientCertificate(v *store.View, objects *store.Objects, gw *gwv1.Gateway) (string, *refs.Problem) {
	if gw.Spec.TLS == nil || gw.Spec.TLS.Backend == nil || gw.Spec.TLS.Backend.ClientCertificateRef == nil {
		return "", nil
	}
	certificate, problem := refs.Certificate(v, objects, refs.Origin{Kind: "Gateway", Namespace: gw.Namespace}, *gw.Spec.TLS.Backend.ClientCertificateRef)
	if problem == nil {
		return certificate.Name, nil
	}
	reason := problem.Reason
	if reason == string(gwv1.ListenerReasonInvalidCertificateRef) {
		reason = string(gwv1.GatewayReasonInvalidClientCertificateRef)
	}
	return "", &refs.Problem{
		Reason:  reason,
		Message: "spec.tls.backend.clientCertificateRef: " + problem.Message + "; until then backends are shown no client certificate",
	}
}

// resolvedRefs judges the references of the Gateway itself, where it has any.
func resolvedRefs(gw *gwv1.Gateway, problems ...*refs.Problem) []outcome.Condition {
	if gw.Spec.TLS == nil {
		return nil
	}
	for _, p := range problems {
		if p != nil {
			return []outcome.Condition{{
				Type: string(gwv1.GatewayConditionResolvedRefs), State: outcome.False, Reason: p.Reason, Message: p.Message,
			}}
		}
	}
	return []outcome.Condition{{
		Type: string(gwv1.GatewayConditionResolvedRefs), State: outcome.True,
		Reason: string(gwv1.GatewayReasonResolvedRefs), Message: "all references of the Gateway itself lead somewhere",
	}}
}
