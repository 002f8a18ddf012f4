package fuzzobjects

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// more adds to some rules what stands beside filters and backends.
func (w Generator) more(rule *gwv1.HTTPRouteRule) {
	if w.IntN(4) == 0 {
		rule.Filters = append(rule.Filters, gwv1.HTTPRouteFilter{
			Type: gwv1.HTTPRouteFilterExternalAuth,
			ExternalAuth: &gwv1.HTTPExternalAuthFilter{
				ExternalAuthProtocol: pick(w, gwv1.HTTPRouteExternalAuthGRPCProtocol, gwv1.HTTPRouteExternalAuthHTTPProtocol),
				BackendRef:           w.backend().BackendObjectReference,
			},
		})
	}
	if w.IntN(4) == 0 {
		rule.Filters = append(rule.Filters, pick(w, w.routeFilterRef(), w.extensionRef()))
	}
	if w.IntN(4) == 0 {
		rule.SessionPersistence = &gwv1.SessionPersistence{ //nolint:staticcheck // deprecated in the standard, and still to be served
			Type: new(pick(w, gwv1.CookieBasedSessionPersistence, gwv1.HeaderBasedSessionPersistence)),
		}
	}
}
