package gateway

import (
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// clientValidation is what the Gateway asks of the clients of an HTTPS port, nil for nothing. GEP-91: what is said of a port replaces the
// default as a whole, and all listeners of a port share it, so that no connection can be used for a hostname that asks for more.
func clientValidation(gw *gwv1.Gateway, port gwv1.PortNumber) *gwv1.FrontendTLSValidation {
	if gw.Spec.TLS == nil || gw.Spec.TLS.Frontend == nil {
		return nil
	}
	for _, own := range gw.Spec.TLS.Frontend.PerPort {
		if own.Port == port {
			return own.TLS.Validation
		}
	}
	return gw.Spec.TLS.Frontend.Default.Validation
}

// takeClients finds the authorities that clients of the listener must be known to. Without a single good one the listener is not
// accepted: no client is accepted rather than any client.
func (l *Listener) takeClients(v *store.View, objects *store.Objects, gw *gwv1.Gateway, found *findings) {
	validation := clientValidation(gw, l.Port)
	if validation == nil {
		return
	}
	bundle, problem := refs.AuthoritiesOf(v, objects, refs.Origin{Kind: "Gateway", Namespace: gw.Namespace}, validation.CACertificateRefs)
	if problem != nil {
		found.resolved = problem
	}
	if bundle == "" {
		// Without a certificate to show, proxies close the connection.
		l.Accepted, l.Certificates = false, nil
		if found.accepted == nil {
			found.accepted = &refs.Problem{
				Reason:  string(gwv1.ListenerReasonNoValidCACertificate),
				Message: "no client is accepted, because no CA certificate of spec.tls.frontend can be used; see ResolvedRefs",
			}
		}
		return
	}
	fallback := validation.Mode == gwv1.AllowInsecureFallback
	l.Clients = &ir.ClientValidation{Authorities: bundle, Fallback: fallback, Optional: fallback}
}

// insecureValidation warns of a Gateway that lets clients in whose certificates it does not trust.
func insecureValidation(gw *gwv1.Gateway) []outcome.Condition {
	if gw.Spec.TLS == nil || gw.Spec.TLS.Frontend == nil {
		return nil
	}
	insecure := func(config gwv1.TLSConfig) bool {
		return config.Validation != nil && config.Validation.Mode == gwv1.AllowInsecureFallback
	}
	var where []string
	if insecure(gw.Spec.TLS.Frontend.Default) {
		where = append(where, "by default")
	}
	for _, own := range gw.Spec.TLS.Frontend.PerPort {
		if insecure(own.TLS) {
			where = append(where, fmt.Sprintf("on port %d", own.Port))
		}
	}
	if where == nil {
		return nil
	}
	return []outcome.Condition{{
		Type:   string(gwv1.GatewayConditionInsecureFrontendValidationMode),
		State:  outcome.True,
		Reason: string(gwv1.GatewayReasonConfigurationChanged),
		Message: fmt.Sprintf("clients without a trusted certificate are accepted %s; set mode %s to accept only clients with one",
			strings.Join(where, " and "), gwv1.AllowValidOnly),
	}}
}
