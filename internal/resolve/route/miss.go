package route

import (
	"cmp"
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
)

// miss is why a listener does not take a route; a greater one came closer.
type miss uint8

const (
	missAccepted miss = iota + 1
	missKind
	missNamespace
	missHostname
	// missNone: the listener takes it.
	missNone
)

// maxListed is how many listeners or hostnames a message names.
const maxListed = 8

// selects says whether a parentRef means a listener.
func selects(ref gwv1.ParentReference, l gateway.ParentListener) bool {
	return (ref.SectionName == nil || string(*ref.SectionName) == l.Name) && (ref.Port == nil || *ref.Port == l.Port)
}

func notAttached(reason gwv1.RouteConditionReason, message string) outcome.Condition {
	return outcome.Condition{Type: string(gwv1.RouteConditionAccepted), State: outcome.False, Reason: string(reason), Message: message}
}

// nothingSelected says which listeners a parent has of which a parentRef means none.
func nothingSelected(ref gwv1.ParentReference, parent string, listeners []gateway.ParentListener) string {
	var wanted []string
	if ref.SectionName != nil {
		wanted = append(wanted, fmt.Sprintf("named %q (sectionName)", *ref.SectionName))
	}
	if ref.Port != nil {
		wanted = append(wanted, fmt.Sprintf("with port %d", *ref.Port))
	}
	return fmt.Sprintf("%s has no listener %s; it has %s", parent, strings.Join(wanted, " and "),
		names(listeners, func(l gateway.ParentListener) string { return fmt.Sprintf("%s (port %d)", l.Name, l.Port) }))
}

// explain says why none of the listeners, which are those that came closest, takes a route.
func (m miss) explain(s subject, parent string, listeners []gateway.ParentListener) outcome.Condition {
	which := fmt.Sprintf("listener %s of %s", names(listeners, func(l gateway.ParentListener) string { return l.Name }), parent)
	switch m {
	case missKind:
		return notAttached(gwv1.RouteReasonNotAllowedByListeners,
			fmt.Sprintf("%s does not take routes of kind %s; see its allowedRoutes.kinds", which, s.kind))
	case missNamespace:
		return notAttached(gwv1.RouteReasonNotAllowedByListeners,
			fmt.Sprintf("%s does not take routes from namespace %s; see its allowedRoutes.namespaces", which, s.namespace))
	case missHostname:
		const message = "no hostname of the route (%s) matches that of a listener of %s: %s"
		return notAttached(gwv1.RouteReasonNoMatchingListenerHostname, fmt.Sprintf(message,
			names(s.hostnames, func(h gwv1.Hostname) string { return string(h) }), parent,
			names(listeners, func(l gateway.ParentListener) string {
				return fmt.Sprintf("%s has %s", l.Name, cmp.Or(l.Hostname, anyHost))
			})))
	default:
		return notAttached(gwv1.RouteReasonNoMatchingParent, which+" is not accepted; see its conditions")
	}
}

// names puts the first of many in a row.
func names[T any](list []T, name func(T) string) string {
	if len(list) == 0 {
		return "none"
	}
	var texts []string
	for _, item := range list[:min(len(list), maxListed)] {
		texts = append(texts, name(item))
	}
	if more := len(list) - maxListed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
