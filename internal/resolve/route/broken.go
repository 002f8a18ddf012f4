package route

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// Broken is what a route is whose resolution panicked: what it was last, and its parents are told. One that was nothing before, or before a
// restart, answers an error, so that no wider route takes its requests. So does one that guarded its requests otherwise before.
func Broken(v *store.View, in Inputs, kind store.Kind, key string, last Resolved, reason string) Resolved {
	meta, s, ok := in.subjectOf(v, kind, key)
	if !ok {
		return Resolved{}
	}
	if last.Name.Name == "" || !in.guardsAsBefore(v, kind, key, last) {
		last = in.closed(v, kind, meta, s)
	}
	return last.Fail(meta.Generation, reason)
}

// closed is a route of which nothing is known but where it attaches.
func (in Inputs) closed(v *store.View, kind store.Kind, meta *metav1.ObjectMeta, s subject) Resolved {
	b := in.bind(v, s)
	r := Resolved{
		Kind: string(kind), Name: ir.Name{Namespace: meta.Namespace, Name: meta.Name}, Created: meta.CreationTimestamp.Unix(),
		Outcome: outcome.Route{Parents: b.parents},
	}
	if kind == store.HTTPRoute || kind == store.GRPCRoute {
		r.Attachments, r.listeners = b.attachments, b.listeners
		r.Rules = in.brokenRules(v, kind, r.Name)
	}
	return r
}

// brokenRules closes what a route matches, or its hostnames if the matches are what makes the resolution panic.
func (in Inputs) brokenRules(v *store.View, kind store.Kind, name ir.Name) (rules []Rule) {
	defer func() {
		if recover() != nil {
			rules = []Rule{closedHostnames(string(kind), name)}
		}
	}()
	route, _ := in.requestRouteOf(v, kind, name.String())
	rules, _ = in.closedRules(v, route, name)
	return rules
}

// Fail says at every parent that this generation could not be processed, and that the one before is served.
func (r Resolved) Fail(generation int64, reason string) Resolved {
	r.Outcome.Generation = generation
	r.Outcome.Parents = slices.Clone(r.Outcome.Parents)
	for i := range r.Outcome.Parents {
		parent := &r.Outcome.Parents[i]
		programmed := outcome.Condition{Type: outcome.RouteProgrammed, State: outcome.False, Reason: outcome.InternalError, Message: reason}
		parent.Conditions = slices.DeleteFunc(slices.Clone(parent.Conditions),
			func(c outcome.Condition) bool { return c.Type == programmed.Type })
		parent.Conditions = append(parent.Conditions, programmed)
	}
	return r
}

// subjectOf is the part of a route of any kind that binding needs.
func (in Inputs) subjectOf(v *store.View, kind store.Kind, key string) (*metav1.ObjectMeta, subject, bool) {
	var (
		meta *metav1.ObjectMeta
		s    = subject{kind: string(kind)}
	)
	switch kind { //nolint:exhaustive // the others are no routes
	case store.HTTPRoute:
		if r, ok := in.Objects.HTTPRoutes.Get(v, key); ok {
			meta, s.spec, s.hostnames = &r.ObjectMeta, r.Spec.CommonRouteSpec, r.Spec.Hostnames
		}
	case store.GRPCRoute:
		if r, ok := in.Objects.GRPCRoutes.Get(v, key); ok {
			meta, s.spec, s.hostnames = &r.ObjectMeta, r.Spec.CommonRouteSpec, r.Spec.Hostnames
		}
	case store.TLSRoute:
		if r, ok := in.Objects.TLSRoutes.Get(v, key); ok {
			meta, s.spec, s.hostnames = &r.ObjectMeta, r.Spec.CommonRouteSpec, r.Spec.Hostnames
		}
	case store.TCPRoute:
		if r, ok := in.Objects.TCPRoutes.Get(v, key); ok {
			meta, s.spec = &r.ObjectMeta, r.Spec.CommonRouteSpec
		}
	case store.UDPRoute:
		if r, ok := in.Objects.UDPRoutes.Get(v, key); ok {
			meta, s.spec = &r.ObjectMeta, r.Spec.CommonRouteSpec
		}
	}
	if meta == nil {
		return nil, s, false
	}
	s.namespace = meta.Namespace
	return meta, s, true
}
