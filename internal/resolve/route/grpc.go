package route

import (
	"fmt"
	"regexp"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// GRPC resolves the GRPCRoute of that key.
func GRPC(v *store.View, in Inputs, key string) Resolved {
	route, ok := in.Objects.GRPCRoutes.Get(v, key)
	if !ok {
		return Resolved{}
	}
	b := in.bind(v, subject{kind: "GRPCRoute", namespace: route.Namespace, parents: route.Spec.ParentRefs, hostnames: route.Spec.Hostnames})
	if len(b.parents) == 0 {
		return Resolved{}
	}
	w := &verdicts{rules: len(route.Spec.Rules)}
	r := &resolver{
		in: in, view: v, verdicts: w, protocol: ir.BackendHTTP2,
		from: refs.Origin{Kind: "GRPCRoute", Namespace: route.Namespace},
	}
	resolved := Resolved{
		Kind: "GRPCRoute", Name: ir.Name{Namespace: route.Namespace, Name: route.Name}, Created: route.CreationTimestamp.Unix(),
	}
	for i := range route.Spec.Rules {
		resolved.Rules = append(resolved.Rules, r.grpcRule(fmt.Sprintf("GRPCRoute/%s/%d", key, i), i, &route.Spec.Rules[i])...)
	}
	return w.finish(resolved, b, route.Generation)
}

func (r *resolver) grpcRule(name string, index int, spec *gwv1.GRPCRouteRule) []Rule {
	var matches []ir.Match
	for _, m := range spec.Matches {
		matches = append(matches, grpcMatch(m))
	}
	if len(matches) == 0 {
		matches = []ir.Match{grpcMatch(gwv1.GRPCRouteMatch{})}
	}
	a, message := r.grpcAction(spec)
	if message == "" {
		message = keepSessions(spec.SessionPersistence, name, &a) //nolint:staticcheck // deprecated in the standard, and still to be served
	}
	return r.rules(name, index, matches, a, message)
}

func (r *resolver) grpcAction(spec *gwv1.GRPCRouteRule) (action, string) {
	backends := make([]backendRef, 0, len(spec.BackendRefs))
	for _, b := range spec.BackendRefs {
		backends = append(backends, backendRef{BackendRef: b.BackendRef, filters: httpFilters(b.Filters)})
	}
	return r.action(httpFilters(spec.Filters), backends)
}

// httpFilters reads the filters of a GRPCRoute as those of an HTTPRoute, of which they are a part.
func httpFilters(filters []gwv1.GRPCRouteFilter) []gwv1.HTTPRouteFilter {
	list := make([]gwv1.HTTPRouteFilter, 0, len(filters))
	for _, f := range filters {
		list = append(list, gwv1.HTTPRouteFilter{
			Type:                   gwv1.HTTPRouteFilterType(f.Type),
			RequestHeaderModifier:  f.RequestHeaderModifier,
			ResponseHeaderModifier: f.ResponseHeaderModifier,
			RequestMirror:          f.RequestMirror,
			ExtensionRef:           f.ExtensionRef,
		})
	}
	return list
}

func grpcMatch(m gwv1.GRPCRouteMatch) ir.Match {
	match := ir.Match{GRPC: true, Path: grpcPath(m.Method)}
	for _, h := range m.Headers {
		match.Headers = appendNamed(match.Headers, strings.ToLower(string(h.Name)), h.Type != nil && *h.Type == gwv1.GRPCHeaderMatchRegularExpression, h.Value)
	}
	return match
}

// anySegment is any name of a service or method.
const anySegment = "[^/]+"

// grpcPath turns a method match into a path: gRPC calls `/<service>/<method>`.
func grpcPath(m *gwv1.GRPCMethodMatch) ir.StringMatch {
	if m == nil || (m.Service == nil && m.Method == nil) {
		return ir.StringMatch{Kind: ir.Prefix, Value: "/"}
	}
	if m.Type != nil && *m.Type == gwv1.GRPCMethodMatchRegularExpression {
		service, method := anySegment, anySegment
		if m.Service != nil {
			service = "(?:" + *m.Service + ")"
		}
		if m.Method != nil {
			method = "(?:" + *m.Method + ")"
		}
		return ir.StringMatch{Kind: ir.Regex, Value: "/" + service + "/" + method}
	}
	switch {
	case m.Service != nil && m.Method != nil:
		return ir.StringMatch{Kind: ir.Exact, Value: "/" + *m.Service + "/" + *m.Method}
	case m.Service != nil:
		return ir.StringMatch{Kind: ir.Prefix, Value: "/" + *m.Service}
	default:
		return ir.StringMatch{Kind: ir.Regex, Value: "/" + anySegment + "/" + regexp.QuoteMeta(*m.Method)}
	}
}
