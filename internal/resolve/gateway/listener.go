package gateway

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ReservedPort is where every proxy answers its readiness probe, so no listener can have it.
const ReservedPort = 19001

// Listener is what one listener means.
type Listener struct {
	Name     string
	Hostname string
	Port     int32
	Protocol ir.Protocol
	// Table is the route table its routes go to.
	Table string
	// Accepted says that routes may attach. A listener whose certificates are missing is accepted and has no Certificates.
	Accepted     bool
	Certificates []string
	// Clients is what clients have to prove, nil for nothing.
	Clients *ir.ClientValidation
	// Kinds are the kinds of routes it takes, and Namespaces says from where.
	Kinds      []outcome.RouteKind
	Namespaces NamespaceRule
	// Conditions hold all verdicts but Programmed, which depends on the fleet.
	Conditions []outcome.Condition
}

// NamespaceRule says which namespaces routes may come from. A nil Selector means only the Gateway's own.
type NamespaceRule struct {
	All      bool
	Selector labels.Selector
}

// findings collects what is wrong with a listener while it is being looked at.
type findings struct {
	accepted, resolved, conflicted *refs.Problem
}

func resolveListeners(v *store.View, objects *store.Objects, gw *gwv1.Gateway) []Listener {
	conflicts := findConflicts(gw.Spec.Listeners)
	resolved := make([]Listener, 0, len(gw.Spec.Listeners))
	for i := range gw.Spec.Listeners {
		resolved = append(resolved, resolveListener(v, objects, gw, &gw.Spec.Listeners[i], conflicts[i]))
	}
	return resolved
}

func resolveListener(v *store.View, objects *store.Objects, gw *gwv1.Gateway, spec *gwv1.Listener, conflict *refs.Problem) Listener {
	found := findings{conflicted: conflict, accepted: unsupported(spec)}
	if found.accepted == nil {
		found.accepted = conflict
	}
	l := Listener{
		Name:     string(spec.Name),
		Hostname: hostname(spec.Hostname),
		Port:     spec.Port,
		Protocol: ir.Protocol(spec.Protocol),
		Accepted: found.accepted == nil,
	}
	l.Table = tableName(gw, l)
	l.Kinds, found.resolved = supportedKinds(spec)
	if problem := l.takeNamespaces(spec); problem != nil && found.accepted == nil {
		found.accepted, l.Accepted = problem, false
	}
	if spec.Protocol == gwv1.HTTPSProtocolType {
		if problem := l.takeCertificates(v, objects, gw, spec); problem != nil {
			found.resolved = problem
		}
		l.takeClients(v, objects, gw, &found)
	}
	l.Conditions = found.conditions()
	return l
}

// tableName is `<namespace>/<gateway>/<port>`, which all HTTP listeners of a port share. Each HTTPS listener has a table of its own,
// because the TLS server name has already chosen the listener.
func tableName(gw *gwv1.Gateway, l Listener) string {
	name := fmt.Sprintf("%s/%s/%d", gw.Namespace, gw.Name, l.Port)
	if l.Protocol == ir.HTTPS {
		name += "/" + l.Name
	}
	return name
}

func hostname(h *gwv1.Hostname) string {
	if h == nil {
		return ""
	}
	return strings.ToLower(string(*h))
}

// unsupported looks for what this version does not serve. Nothing is left out in silence.
func unsupported(spec *gwv1.Listener) *refs.Problem {
	value := func(message string) *refs.Problem {
		return &refs.Problem{Reason: string(gwv1.ListenerReasonUnsupportedValue), Message: message}
	}
	https := spec.Protocol == gwv1.HTTPSProtocolType
	switch {
	case spec.Protocol != gwv1.HTTPProtocolType && !https:
		return &refs.Problem{
			Reason:  string(gwv1.ListenerReasonUnsupportedProtocol),
			Message: fmt.Sprintf("protocol %s is not served; use %s or %s", spec.Protocol, gwv1.HTTPProtocolType, gwv1.HTTPSProtocolType),
		}
	case spec.Port == ReservedPort:
		return &refs.Problem{
			Reason:  string(gwv1.ListenerReasonPortUnavailable),
			Message: fmt.Sprintf("port %d is where every proxy answers its readiness probe; choose another", ReservedPort),
		}
	case https && spec.TLS != nil && spec.TLS.Mode != nil && *spec.TLS.Mode != gwv1.TLSModeTerminate:
		return value(fmt.Sprintf("tls.mode %s is not served on an HTTPS listener; use %s", *spec.TLS.Mode, gwv1.TLSModeTerminate))
	case spec.Filters != nil:
		return value("listener filters are not served by this version; remove them")
	default:
		return nil
	}
}

// supportedKinds intersects what the listener allows with what it can take.
func supportedKinds(spec *gwv1.Listener) ([]outcome.RouteKind, *refs.Problem) {
	if spec.Protocol != gwv1.HTTPProtocolType && spec.Protocol != gwv1.HTTPSProtocolType {
		return nil, nil
	}
	served := []outcome.RouteKind{{Group: gwv1.GroupName, Kind: "HTTPRoute"}, {Group: gwv1.GroupName, Kind: "GRPCRoute"}}
	if spec.AllowedRoutes == nil || len(spec.AllowedRoutes.Kinds) == 0 {
		return served, nil
	}
	var kinds []outcome.RouteKind
	var problem *refs.Problem
	for _, allowed := range spec.AllowedRoutes.Kinds {
		kind := outcome.RouteKind{Group: gwv1.GroupName, Kind: string(allowed.Kind)}
		if allowed.Group != nil {
			kind.Group = string(*allowed.Group)
		}
		switch {
		case kind != served[0] && kind != served[1]:
			problem = &refs.Problem{
				Reason:  string(gwv1.ListenerReasonInvalidRouteKinds),
				Message: fmt.Sprintf("allowedRoutes names kind %s of group %q, which a %s listener does not take", kind.Kind, kind.Group, spec.Protocol),
			}
		default:
			kinds = append(kinds, kind)
		}
	}
	return kinds, problem
}

func (l *Listener) takeNamespaces(spec *gwv1.Listener) *refs.Problem {
	if spec.AllowedRoutes == nil || spec.AllowedRoutes.Namespaces == nil || spec.AllowedRoutes.Namespaces.From == nil {
		return nil
	}
	switch *spec.AllowedRoutes.Namespaces.From {
	case gwv1.NamespacesFromAll:
		l.Namespaces.All = true
	case gwv1.NamespacesFromSelector:
		selector, err := metav1.LabelSelectorAsSelector(spec.AllowedRoutes.Namespaces.Selector)
		if err != nil {
			return &refs.Problem{
				Reason:  string(gwv1.ListenerReasonUnsupportedValue),
				Message: fmt.Sprintf("allowedRoutes.namespaces.selector is not a label selector: %v", err),
			}
		}
		l.Namespaces.Selector = selector
	case gwv1.NamespacesFromNone:
		l.Namespaces.Selector = labels.Nothing()
	case gwv1.NamespacesFromSame:
	}
	return nil
}

// takeCertificates keeps the key pairs that can be used; one bad reference does not take the others with it.
func (l *Listener) takeCertificates(v *store.View, objects *store.Objects, gw *gwv1.Gateway, spec *gwv1.Listener) *refs.Problem {
	if spec.TLS == nil || len(spec.TLS.CertificateRefs) == 0 {
		return &refs.Problem{
			Reason:  string(gwv1.ListenerReasonInvalidCertificateRef),
			Message: "an HTTPS listener needs tls.certificateRefs",
		}
	}
	var first *refs.Problem
	for _, ref := range spec.TLS.CertificateRefs {
		name, problem := refs.Certificate(v, objects, refs.Origin{Kind: "Gateway", Namespace: gw.Namespace}, ref)
		if problem != nil {
			if first == nil {
				first = problem
			}
			continue
		}
		l.Certificates = append(l.Certificates, name)
	}
	return first
}

func (f findings) conditions() []outcome.Condition {
	accepted := outcome.Condition{
		Type: string(gwv1.ListenerConditionAccepted), State: outcome.True,
		Reason: string(gwv1.ListenerReasonAccepted), Message: "the listener is valid",
	}
	resolved := outcome.Condition{
		Type: string(gwv1.ListenerConditionResolvedRefs), State: outcome.True,
		Reason: string(gwv1.ListenerReasonResolvedRefs), Message: "all references lead somewhere",
	}
	conflicted := outcome.Condition{
		Type: string(gwv1.ListenerConditionConflicted), State: outcome.False,
		Reason: string(gwv1.ListenerReasonNoConflicts), Message: "no other listener claims the same port and hostname",
	}
	if f.accepted != nil {
		accepted.State, accepted.Reason, accepted.Message = outcome.False, f.accepted.Reason, f.accepted.Message
	}
	if f.resolved != nil {
		resolved.State, resolved.Reason, resolved.Message = outcome.False, f.resolved.Reason, f.resolved.Message
	}
	if f.conflicted != nil {
		conflicted.State, conflicted.Reason, conflicted.Message = outcome.True, f.conflicted.Reason, f.conflicted.Message
	}
	return []outcome.Condition{accepted, conflicted, resolved}
}
