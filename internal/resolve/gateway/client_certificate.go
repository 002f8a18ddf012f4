package gateway

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// clientCertificate resolves the key pair of spec.tls.backend that proxies present to backends. If it does not resolve, the Gateway works
// without: proxies present none, and a backend that requires one rejects them.
func clientCertificate(v *store.View, objects *store.Objects, gw *gwv1.Gateway) (string, *refs.Problem) {
	if gw.Spec.TLS == nil || gw.Spec.TLS.Backend == nil || gw.Spec.TLS.Backend.ClientCertificateRef == nil {
		return "", nil
	}
	certificate, problem := refs.Certificate(v, objects, refs.Origin{Kind: "Gateway", Namespace: gw.Namespace},
		*gw.Spec.TLS.Backend.ClientCertificateRef)
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

// resolvedRefs returns the ResolvedRefs condition for the references of the Gateway itself, if it has any.
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
		Reason: string(gwv1.GatewayReasonResolvedRefs), Message: "all references of the Gateway itself are resolved",
	}}
}
