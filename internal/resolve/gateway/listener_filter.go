package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/auth"
	"github.com/gatewright/gatewright/internal/resolve/extension"
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
		case f.Type == gwv1.ListenerFilterExternalAuth && f.ExternalAuth != nil, isExtension(f):
		default:
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

// isExtension reports whether a filter is an Extension.
func isExtension(f gwv1.ListenerFilter) bool {
	ref := f.ExtensionRef
	return f.Type == gwv1.ListenerFilterExtensionRef && ref != nil && ref.Group == v1alpha1.GroupName && ref.Kind == gwv1.Kind(store.Extension)
}

func requestFilters(spec *gwv1.Listener) []gwv1.ListenerFilter {
	if spec.Filters == nil {
		return nil
	}
	return spec.Filters.Requests
}

// takeFilters resolves the filters. One that cannot be served stays in its place, so that nothing passes unchecked.
func (l *Listener) takeFilters(v *store.View, objects *store.Objects, e entry, found *findings) {
	if !l.Accepted {
		return
	}
	servers := 0
	for i, f := range requestFilters(e.spec) {
		var resolved []ir.ListenerFilter
		var problem *refs.Problem
		if isExtension(f) {
			if resolved, problem = extensionFilter(v, objects, e, f.ExtensionRef.Name); problem == nil {
				servers += len(resolved)
				problem = tooMany(servers)
			}
		} else {
			var message string
			if resolved, problem, message = authFilter(v, objects, e, f.ExternalAuth); message != "" {
				found.accepted = &refs.Problem{Reason: reasonInvalidListenerFilter, Message: fmt.Sprintf("filters.requests[%d]: %s", i, message)}
				l.Accepted, l.Filters = false, nil
				return
			}
		}
		if problem != nil {
			resolved = []ir.ListenerFilter{{}}
			if found.resolved == nil {
				found.resolved = &refs.Problem{
					Reason:  filterRefReason(problem.Reason),
					Message: fmt.Sprintf("filters.requests[%d]: %s; until then requests are answered 500", i, problem.Message),
				}
			}
		}
		l.Filters = append(l.Filters, resolved...)
	}
}

func authFilter(
	v *store.View, objects *store.Objects, e entry, f *gwv1.HTTPExternalAuthFilter,
) ([]ir.ListenerFilter, *refs.Problem, string) {
	from := refs.Origin{Kind: string(e.holder.kind), Namespace: e.holder.name.Namespace}
	resolved, problem, message := auth.External(v, objects, from, f)
	return []ir.ListenerFilter{{Auth: &resolved}}, problem, message
}

// extensionFilter resolves an Extension of the namespace that the listener is in. Another object than the listener says what it is, so
// whatever is wrong with it leaves the listener accepted: no wider listener gets the requests.
func extensionFilter(v *store.View, objects *store.Objects, e entry, name gwv1.ObjectName) ([]ir.ListenerFilter, *refs.Problem) {
	resolved, problem, message := extension.OfListener(v, objects, e.holder.name.Namespace, string(name))
	if message != "" {
		problem = &refs.Problem{Reason: reasonInvalidListenerFilterRef, Message: message}
	}
	return resolved, problem
}

// tooMany bounds what the Extensions of a listener add to every listener of its port.
func tooMany(servers int) *refs.Problem {
	if servers <= ir.MaxExtensions {
		return nil
	}
	return &refs.Problem{
		Reason:  reasonInvalidListenerFilterRef,
		Message: fmt.Sprintf("the Extensions of the listener have more than %d servers; use fewer", ir.MaxExtensions),
	}
}

// filterRefReason: GEP-5224 has one word for all that can be wrong with a reference, but for a missing grant.
func filterRefReason(reason string) string {
	if reason == string(gwv1.RouteReasonRefNotPermitted) {
		return reason
	}
	return reasonInvalidListenerFilterRef
}
