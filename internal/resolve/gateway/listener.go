package gateway

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Listener is what one listener means.
type Listener struct {
	// ID is unique in the Gateway: the name for one of its own, `<namespace>/<set>/<name>` for one of a ListenerSet.
	ID string
	// Name is unique in the object that holds the listener, and Set is the `namespace/name` of the ListenerSet that does; empty for the
	// Gateway.
	Name     string
	Set      string
	Hostname string
	Port     int32
	// Protocol is that of the port if the listener has another and only keeps its hostname.
	Protocol ir.Protocol
	// Table is the route table its routes go to; zero where whole connections are forwarded.
	Table ir.TableID
	// Accepted is the condition of the listener alone. One whose certificates are missing is accepted and has no Certificates.
	Accepted bool
	// Terminates says that the listener needs Certificates.
	Terminates   bool
	Certificates []string
	// Clients is what clients have to prove, nil for nothing.
	Clients *ir.ClientValidation
	// Filters are passed by every request before a route is chosen, in this order.
	Filters []ir.ListenerFilter
	// Conflict is the reason for which it lost to a listener before it, or empty.
	Conflict string
	// known says that its protocol is one that proxies serve.
	known bool
	// Attachable is set if routes may attach: the listener, its Gateway and its ListenerSet, if it is of one, are all accepted.
	Attachable bool
	// Closed is set if it is not, and keeps its hostname on its port all the same: requests are answered 500, or connections closed.
	Closed bool
	// ClosedBy names the policies because of which it accepts no connection, empty if it does. Policies are not known here: the pipeline
	// fills it in for status.
	ClosedBy string
	// Kinds are the kinds of routes it takes, and Namespaces says from where.
	Kinds      []outcome.RouteKind
	Namespaces NamespaceRule
	// Conditions hold all conditions but Programmed, which depends on the fleet.
	Conditions []outcome.Condition
}

// findings collects what is wrong with a listener while it is being looked at.
type findings struct {
	accepted, resolved, conflicted *refs.Problem
	// ignored are options that mean nothing to us.
	ignored []string
	// expires is what is to be said of the certificate that is the first to end.
	expires string
}

// resolveListeners resolves the merged list: each listener is evaluated on its own first, then against those before it.
func resolveListeners(v *store.View, objects *store.Objects, gw *gwv1.Gateway, entries []entry) []Listener {
	for i := range entries {
		entries[i].unsupported = unsupported(entries[i].spec)
		if message := entries[i].beyond; message != "" && impossible(entries[i].spec) == nil {
			entries[i].unsupported = &refs.Problem{Reason: string(gwv1.ListenerReasonUnsupportedValue), Message: message}
		}
		if reason := entries[i].unreadable; reason != "" && entries[i].unsupported == nil {
			entries[i].unsupported = &refs.Problem{
				Reason:  string(gwv1.ListenerReasonUnsupportedValue),
				Message: "the ListenerSet cannot be read; correct it, or install the definitions that belong to this version of Gatewright: " + reason,
			}
		}
	}
	conflicts := findConflicts(entries)
	resolved := make([]Listener, 0, len(entries))
	for i, e := range entries {
		resolved = append(resolved, resolveListener(v, objects, gw, e, conflicts[i]))
	}
	markOverlaps(resolved)
	return resolved
}

func resolveListener(v *store.View, objects *store.Objects, gw *gwv1.Gateway, e entry, conflict *refs.Problem) Listener {
	spec := e.spec
	found := findings{conflicted: conflict, accepted: conflict}
	if found.accepted == nil {
		found.accepted = e.unsupported
	}
	l := Listener{
		ID:       e.id(),
		Name:     string(spec.Name),
		Set:      e.holder.set(),
		Hostname: hostnameOf(spec),
		Port:     spec.Port,
		Protocol: ir.Protocol(spec.Protocol),
		Accepted: found.accepted == nil,

		Terminates: terminates(spec),
		known:      len(servedKinds(spec)) > 0,
	}
	if conflict != nil {
		l.Conflict = conflict.Reason
	}
	l.Table = table(store.KeyOf(gw), l)
	l.Kinds, found.resolved = supportedKinds(spec)
	if problem := l.takeNamespaces(e); problem != nil && found.accepted == nil {
		found.accepted, l.Accepted = problem, false
	}
	if l.Terminates {
		if problem := l.takeCertificates(v, objects, e, &found); problem != nil {
			found.resolved = problem
		}
	}
	if l.Protocol == ir.HTTPS {
		l.takeClients(v, objects, gw, &found)
	}
	l.takeFilters(v, objects, e, &found)
	found.ignored = ignoredOptions(spec)
	l.Conditions = found.conditions()
	return l
}

// Usable says that proxies can serve the listener: it is accepted, has a certificate if it needs one, and no policy closes it.
func (l Listener) Usable() bool {
	return l.Accepted && l.hasCertificate() && l.ClosedBy == ""
}

// hasCertificate says that the listener has a certificate, or needs none.
func (l Listener) hasCertificate() bool { return !l.Terminates || len(l.Certificates) > 0 }

// table is the route table of a listener. There is none for streams.
func table(gateway string, l Listener) ir.TableID {
	if l.Protocol != ir.HTTP && l.Protocol != ir.HTTPS {
		return ir.TableID{}
	}
	return ir.TableID{Gateway: gateway, Port: l.Port}
}

// terminates says whether the listener ends TLS itself, which is the standard's default.
func terminates(spec *gwv1.Listener) bool {
	return ir.Protocol(spec.Protocol).ChoosesByName() && (spec.TLS == nil || spec.TLS.Mode == nil || *spec.TLS.Mode == gwv1.TLSModeTerminate)
}

// hostnameOf is empty for any hostname, and where the protocol knows none: the standard has it ignored there.
func hostnameOf(spec *gwv1.Listener) string {
	if spec.Hostname == nil || spec.Protocol == gwv1.TCPProtocolType || spec.Protocol == gwv1.UDPProtocolType {
		return ""
	}
	return strings.ToLower(string(*spec.Hostname))
}

// unsupported looks for what this version does not serve. Whatever is left out is reported.
func unsupported(spec *gwv1.Listener) *refs.Problem {
	if problem := impossible(spec); problem != nil {
		return problem
	}
	if spec.Protocol == gwv1.HTTPSProtocolType && !terminates(spec) {
		return &refs.Problem{
			Reason:  string(gwv1.ListenerReasonUnsupportedValue),
			Message: fmt.Sprintf("tls.mode %s is not served on an HTTPS listener; use %s", *spec.TLS.Mode, gwv1.TLSModeTerminate),
		}
	}
	return unsupportedFilter(spec)
}

// impossible looks for what keeps a listener from taking a hostname, or a port, from others.
func impossible(spec *gwv1.Listener) *refs.Problem {
	switch {
	case len(servedKinds(spec)) == 0:
		return &refs.Problem{
			Reason:  string(gwv1.ListenerReasonUnsupportedProtocol),
			Message: fmt.Sprintf("protocol %s is not served; use HTTP, HTTPS, TLS, TCP or UDP", spec.Protocol),
		}
	case spec.Port == ir.ReadyPort && spec.Protocol != gwv1.UDPProtocolType:
		return &refs.Problem{
			Reason:  string(gwv1.ListenerReasonPortUnavailable),
			Message: fmt.Sprintf("port %d is where every proxy answers its readiness probe; choose another", ir.ReadyPort),
		}
	case spec.Protocol == gwv1.TCPProtocolType || spec.Protocol == gwv1.UDPProtocolType:
		return unsupportedFilter(spec)
	default:
		return nil
	}
}

// servedKinds are the kinds of routes a listener can take; none where its protocol is not served.
func servedKinds(spec *gwv1.Listener) []outcome.RouteKind {
	kind := func(name store.Kind) outcome.RouteKind {
		return outcome.RouteKind{Group: gwv1.GroupName, Kind: string(name)}
	}
	switch spec.Protocol {
	case gwv1.HTTPProtocolType, gwv1.HTTPSProtocolType:
		return []outcome.RouteKind{kind(store.HTTPRoute), kind(store.GRPCRoute)}
	case gwv1.TLSProtocolType:
		if terminates(spec) {
			return []outcome.RouteKind{kind(store.TLSRoute), kind(store.TCPRoute)}
		}
		return []outcome.RouteKind{kind(store.TLSRoute)}
	case gwv1.TCPProtocolType:
		return []outcome.RouteKind{kind(store.TCPRoute)}
	case gwv1.UDPProtocolType:
		return []outcome.RouteKind{kind(store.UDPRoute)}
	default:
		return nil
	}
}

// supportedKinds intersects what the listener allows with what it can take.
func supportedKinds(spec *gwv1.Listener) ([]outcome.RouteKind, *refs.Problem) {
	served := servedKinds(spec)
	if len(served) == 0 || spec.AllowedRoutes == nil || len(spec.AllowedRoutes.Kinds) == 0 {
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
		case !slices.Contains(served, kind):
			problem = &refs.Problem{
				Reason: string(gwv1.ListenerReasonInvalidRouteKinds),
				Message: fmt.Sprintf("allowedRoutes names kind %s of group %q, which a %s listener does not take", kind.Kind, kind.Group,
					spec.Protocol),
			}
		default:
			kinds = append(kinds, kind)
		}
	}
	return kinds, problem
}

// takeNamespaces reads where routes may come from. The standard: unless it says otherwise, from where the listener itself is.
func (l *Listener) takeNamespaces(e entry) *refs.Problem {
	l.Namespaces.Home = e.holder.name.Namespace
	if e.spec.AllowedRoutes == nil || e.spec.AllowedRoutes.Namespaces == nil || e.spec.AllowedRoutes.Namespaces.From == nil {
		return nil
	}
	allowed := e.spec.AllowedRoutes.Namespaces
	rule, message := namespaceRule(e.holder.name.Namespace, *allowed.From, allowed.Selector)
	l.Namespaces = rule
	if message != "" {
		return &refs.Problem{Reason: string(gwv1.ListenerReasonUnsupportedValue), Message: "allowedRoutes." + message}
	}
	return nil
}

// ignoredOptions are the options of TLS, none of which is known here.
func ignoredOptions(spec *gwv1.Listener) []string {
	if spec.TLS == nil {
		return nil
	}
	var names []string
	for name := range spec.TLS.Options {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

func (f findings) conditions() []outcome.Condition {
	accepted := outcome.Condition{
		Type: string(gwv1.ListenerConditionAccepted), State: outcome.True,
		Reason: string(gwv1.ListenerReasonAccepted), Message: "the listener is valid",
	}
	resolved := outcome.Condition{
		Type: string(gwv1.ListenerConditionResolvedRefs), State: outcome.True,
		Reason: string(gwv1.ListenerReasonResolvedRefs), Message: refs.Resolved + f.expires,
	}
	conflicted := outcome.Condition{
		Type: string(gwv1.ListenerConditionConflicted), State: outcome.False,
		Reason: string(gwv1.ListenerReasonNoConflicts), Message: "no other listener claims the same port and hostname",
	}
	if len(f.ignored) > 0 {
		accepted.Message += "; these TLS options mean nothing to Gatewright: " + strings.Join(f.ignored, ", ")
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
