package route

import (
	"regexp"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// GRPC resolves the GRPCRoute of that key.
func GRPC(v *store.View, in Inputs, key string) Resolved {
	route, ok := in.Objects.GRPCRoutes.Get(v, key)
	if !ok {
		return Resolved{}
	}
	if reason := store.Unreadable(route); reason != "" {
		return in.unreadable(v, grpcRequests(route), reason)
	}
	return in.requests(v, grpcRequests(route))
}

func grpcRule(spec *gwv1.GRPCRouteRule) requestRule {
	rule := requestRule{
		filters:  httpFilters(spec.Filters),
		name:     ruleName(spec.Name),
		sessions: spec.SessionPersistence, //nolint:staticcheck // deprecated in the standard, and still to be served
		complete: func(*action) string { return "" },
	}
	for _, m := range spec.Matches {
		rule.matches = append(rule.matches, grpcMatch(m).readings()...)
	}
	if len(rule.matches) == 0 {
		rule.matches = []requestMatch{grpcMatch(gwv1.GRPCRouteMatch{})}
	}
	for _, b := range spec.BackendRefs {
		rule.backends = append(rule.backends, backendRef{BackendRef: b.BackendRef, filters: httpFilters(b.Filters)})
	}
	return rule
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

func grpcMatch(m gwv1.GRPCRouteMatch) requestMatch {
	match := requestMatch{Match: ir.Match{GRPC: true, Path: grpcPath(m.Method)}, segments: grpcExpressions(m.Method)}
	if m.Method != nil {
		switch kind := typeOf(m.Method.Type); kind {
		case "", string(gwv1.GRPCMethodMatchExact), string(gwv1.GRPCMethodMatchRegularExpression):
		default:
			match.anyPath = true
			match.notKnown("method", kind, exactOrExpression)
		}
	}
	for _, h := range m.Headers {
		match.addHeader(strings.ToLower(string(h.Name)), typeOf(h.Type), h.Value)
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

// grpcExpressions are the expressions for service and method, if they are expressions.
func grpcExpressions(m *gwv1.GRPCMethodMatch) []string {
	if m == nil || m.Type == nil || *m.Type != gwv1.GRPCMethodMatchRegularExpression {
		return nil
	}
	service, method := anySegment, anySegment
	if m.Service != nil {
		service = *m.Service
	}
	if m.Method != nil {
		method = *m.Method
	}
	return []string{service, method}
}
