package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/auth"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Reasons of GEP-5224 for which the module of the standard has no names.
const (
	reasonInvalidListenerFilter    = "InvalidListenerFilter"
	reasonInvalidListenerFilterRef = "InvalidListenerFilterRef"
)

// unsupportedFilter names the first filter of a listener that is not served. A listener is not served without one of its filters.
func unsupportedFilter(spec *gwv1.Listener) *refs.Problem {
	for i, f := range requestFilters(spec) {
		switch {
		case spec.Protocol != gwv1.HTTPProtocolType && spec.Protocol != gwv1.HTTPSProtocolType:
			return &refs.Problem{
				Reason:  reasonInvalidListenerFilter,
				Message: fmt.Sprintf("filters.requests[%d]: a %s listener has no requests; remove it", i, spec.Protocol),
			}
		case f.Type != gwv1.ListenerFilterExternalAuth || f.ExternalAuth == nil:
			message := fmt.Sprintf("filters.requests[%d]: filter %s is not served; remove it", i, f.Type)
			if f.ExtensionRef != nil {
				message = fmt.Sprintf("filters.requests[%d]: filter %s names %s %s in group %q, which is not served; remove it",
					i, f.Type, f.ExtensionRef.Kind, f.ExtensionRef.Name, f.ExtensionRef.Group)
			}
			return &refs.Problem{Reason: string(gwv1.ListenerReasonUnsupportedValue), Message: message}
		}
	}
	return nil
}

func requestFilters(spec *gwv1.Listener) []gwv1.ListenerFilter {
	if spec.Filters == nil {
		return nil
	}
	return spec.Filters.Requests
}

// takeFilters resolves the filters. One whose backend can not be asked stays in its place, so that nothing passes unchecked.
func (l *Listener) takeFilters(v *store.View, objects *store.Objects, e entry, found *findings) {
	if !l.Accepted {
		return
	}
	from := refs.Origin{Kind: string(e.holder.kind), Namespace: e.holder.name.Namespace}
	for i, f := range requestFilters(e.spec) {
		resolved, problem, message := auth.External(v, objects, from, f.ExternalAuth)
		if message != "" {
			found.accepted = &refs.Problem{Reason: reasonInvalidListenerFilter, Message: fmt.Sprintf("filters.requests[%d]: %s", i, message)}
			l.Accepted, l.Filters = false, nil
			return
		}
		if problem != nil && found.resolved == nil {
			found.resolved = &refs.Problem{
				Reason:  filterRefReason(problem.Reason),
				Message: fmt.Sprintf("filters.requests[%d]: %s; until then requests are answered 500", i, problem.Message),
			}
		}
		l.Filters = append(l.Filters, resolved)
	}
}

// filterRefReason: GEP-5224 has one word for all that can be wrong with a reference, but for a missing grant.
func filterRefReason(reason string) string {
	if reason == string(gwv1.RouteReasonRefNotPermitted) {
		return reason
	}
	return reasonInvalidListenerFilterRef
}
