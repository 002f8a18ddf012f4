package fuzzobjects

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// Damage is a way to damage one object of a set that [Generator.Guarded] makes.
type Damage int

// The ways.
const (
	BreakRoute Damage = iota
	BreakListener
	MakeUnreadable
	// DeleteReferent deletes a Service, an Extension, an HTTPRouteFilter, a Secret, a ConfigMap or a ReferenceGrant.
	DeleteReferent
	// BreakReferent makes an Extension, a Secret or a ConfigMap unfit for what refers to it.
	BreakReferent
	// Damages is their number.
	Damages
)

// Damage returns the set with one object damaged, and says what happened to it.
func (w Generator) Damage(objects []store.Change, way Damage) (damaged []store.Change, what string) {
	kind, change := w.damageOf(objects, way)
	i := w.choose(objects, kind)
	damaged = slices.Clone(objects)
	if change == nil {
		return slices.Delete(damaged, i, i+1), fmt.Sprintf("%s %s is gone", kind, objects[i].Key)
	}
	original, _ := objects[i].Object.(store.Object)
	object, _ := original.DeepCopyObject().(store.Object)
	what = change(object)
	damaged[i].Object = object
	return damaged, fmt.Sprintf("%s %s: %s", kind, objects[i].Key, what)
}

// damageOf returns the kind of the object that is damaged, and how; nil deletes it.
func (w Generator) damageOf(objects []store.Change, way Damage) (store.Kind, func(store.Object) string) {
	has := func(kind store.Kind) bool {
		return slices.ContainsFunc(objects, func(c store.Change) bool { return c.Kind == kind })
	}
	switch way {
	case BreakRoute:
		return store.HTTPRoute, w.breakRoute
	case BreakListener:
		if w.IntN(3) == 0 && has(store.ListenerSet) {
			return store.ListenerSet, w.breakSet
		}
		return store.Gateway, w.breakGateway
	case MakeUnreadable:
		kinds := slices.DeleteFunc([]store.Kind{
			store.HTTPRoute, store.HTTPRoute, store.GRPCRoute, store.ListenerSet, store.SecurityPolicy, store.HTTPRouteFilter,
			store.BackendTrafficPolicy, store.ClientTrafficPolicy,
		}, func(kind store.Kind) bool { return !has(kind) })
		return pick(w, kinds...), w.makeUnreadable
	case BreakReferent:
		return pick(w, store.Extension, store.Secret, store.Secret, store.ConfigMap, store.ConfigMap), w.breakReferent
	default:
		return pick(w, store.Service, store.Service, store.Extension, store.HTTPRouteFilter, store.Secret, store.Secret, store.ConfigMap,
			store.ReferenceGrant), nil
	}
}

// choose returns the place of a random object of a kind.
func (w Generator) choose(objects []store.Change, kind store.Kind) int {
	var places []int
	for i, c := range objects {
		if c.Kind == kind {
			places = append(places, i)
		}
	}
	return pick(w, places...)
}

func (w Generator) breakRoute(object store.Object) string {
	r, _ := object.(*gwv1.HTTPRoute)
	rule := &r.Spec.Rules[w.IntN(len(r.Spec.Rules))]
	filter := func(f gwv1.HTTPRouteFilter) { rule.Filters = append(rule.Filters, f) }
	switch w.IntN(5) {
	case 0:
		if !slices.ContainsFunc(rule.Filters, func(f gwv1.HTTPRouteFilter) bool { return f.Type == gwv1.HTTPRouteFilterExternalAuth }) {
			filter(w.AskServer())
		}
		other := &gwv1.HTTPExternalAuthFilter{ExternalAuthProtocol: gwv1.HTTPRouteExternalAuthHTTPProtocol}
		other.BackendRef = gwv1.BackendObjectReference{Name: "s1", Port: new(gwv1.PortNumber(80))}
		filter(gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExternalAuth, ExternalAuth: other})
		return "two authorizations"
	case 1:
		filter(gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{Kind: "Thing", Name: "t"}})
		return "a filter that is not known"
	case 2:
		edit := &gwv1.HTTPHeaderFilter{Remove: []string{"a b"}}
		filter(gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: edit})
		return "a header that is none"
	case 3:
		rule.Timeouts = &gwv1.HTTPRouteTimeouts{Request: new(gwv1.Duration("soon"))}
		return "a timeout that is none"
	default:
		if len(rule.Matches) == 0 {
			rule.Matches = []gwv1.HTTPRouteMatch{{}}
		}
		for i := range rule.Matches {
			rule.Matches[i].Headers = append(rule.Matches[i].Headers, gwv1.HTTPHeaderMatch{Name: "a b", Value: "x"})
		}
		return "conditions that cannot be read"
	}
}

func (w Generator) breakListener(l *gwv1.Listener) string {
	if w.IntN(3) == 0 {
		return w.changeProtocol(l)
	}
	what := "a filter that is not served"
	f := gwv1.ListenerFilter{Type: gwv1.ListenerFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{Kind: "Thing", Name: "t"}}
	if w.coin() {
		what = "a filter that is invalid"
		f = gwv1.ListenerFilter{Type: gwv1.ListenerFilterExternalAuth, ExternalAuth: &gwv1.HTTPExternalAuthFilter{ExternalAuthProtocol: "FTP"}}
		f.ExternalAuth.BackendRef = gwv1.BackendObjectReference{Name: "s1", Port: new(gwv1.PortNumber(80))}
	}
	filters := &gwv1.ListenerFilters{Requests: []gwv1.ListenerFilter{f}}
	if l.Filters != nil {
		filters.Requests = append(slices.Clone(l.Filters.Requests), f)
	}
	l.Filters = filters
	return what
}

// changeProtocol gives a listener a protocol that is not that of its port, or is not known.
func (w Generator) changeProtocol(l *gwv1.Listener) string {
	protocols := slices.DeleteFunc([]gwv1.ProtocolType{gwv1.HTTPProtocolType, gwv1.HTTPSProtocolType, "example.com/other"},
		func(p gwv1.ProtocolType) bool { return p == l.Protocol })
	l.Protocol = pick(w, protocols...)
	return fmt.Sprintf("listener %s has protocol %s", l.Name, l.Protocol)
}

func (w Generator) breakGateway(object store.Object) string {
	gw, _ := object.(*gwv1.Gateway)
	return w.breakListener(&gw.Spec.Listeners[w.IntN(len(gw.Spec.Listeners))])
}

func (w Generator) breakSet(object store.Object) string {
	set, _ := object.(*gwv1.ListenerSet)
	l := gwv1.Listener(set.Spec.Listeners[0])
	what := w.breakListener(&l)
	set.Spec.Listeners[0] = gwv1.ListenerEntry(l)
	return what
}

// makeUnreadable leaves of an object what watches leave of one that cannot be read.
func (w Generator) makeUnreadable(object store.Object) string {
	store.MarkUnreadable(object, "a number is too large")
	switch o := object.(type) {
	case *gwv1.HTTPRoute:
		if w.IntN(3) == 0 {
			o.Spec.Rules = nil
			return "nothing of its rules can be read"
		}
		for i := range o.Spec.Rules {
			rule := gwv1.HTTPRouteRule{Matches: o.Spec.Rules[i].Matches}
			for _, f := range o.Spec.Rules[i].Filters {
				rule.Filters = append(rule.Filters, gwv1.HTTPRouteFilter{Type: f.Type, ExtensionRef: f.ExtensionRef})
			}
			o.Spec.Rules[i] = rule
		}
	case *gwv1.GRPCRoute:
		for i := range o.Spec.Rules {
			o.Spec.Rules[i] = gwv1.GRPCRouteRule{Matches: o.Spec.Rules[i].Matches}
		}
	case *v1alpha1.HTTPRouteFilter:
		o.Annotations = store.WithUnknownFields(nil, []string{"spec.matches"})
		o.Spec.Matches = nil
	case *gwv1.ListenerSet:
		for i, l := range o.Spec.Listeners {
			o.Spec.Listeners[i] = gwv1.ListenerEntry{Name: l.Name, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol}
		}
	case *v1alpha1.SecurityPolicy:
		o.Spec = v1alpha1.SecurityPolicySpec{PolicyTargets: o.Spec.PolicyTargets}
	case *v1alpha1.BackendTrafficPolicy:
		return unreadableField(w, o, "spec.rateLimit", &o.Spec.RateLimit)
	case *v1alpha1.ClientTrafficPolicy:
		return unreadableField(w, o, "spec.tls", &o.Spec.TLS)
	}
	return "it cannot be read"
}

// unreadableField leaves of a field what watches leave of one that cannot be read, or of one with a field that is not known.
func unreadableField[F any](w Generator, object store.Object, path string, field **F) string {
	if w.coin() {
		*field = nil
	} else {
		path += ".newer"
	}
	object.SetAnnotations(store.WithUnknownFields(nil, []string{path}))
	return path + " is not known"
}
