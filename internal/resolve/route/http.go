package route

import (
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// HTTP resolves the HTTPRoute of that key.
func HTTP(v *store.View, in Inputs, key string) Resolved {
	route, ok := in.Objects.HTTPRoutes.Get(v, key)
	if !ok {
		return Resolved{}
	}
	b := in.bind(v, subject{kind: "HTTPRoute", namespace: route.Namespace, parents: route.Spec.ParentRefs, hostnames: route.Spec.Hostnames})
	if len(b.parents) == 0 {
		return Resolved{}
	}
	w := &verdicts{rules: len(route.Spec.Rules)}
	r := &resolver{
		in: in, view: v, verdicts: w, protocol: ir.BackendHTTP1,
		from: refs.Origin{Kind: "HTTPRoute", Namespace: route.Namespace},
	}
	resolved := Resolved{
		Kind: "HTTPRoute", Name: ir.Name{Namespace: route.Namespace, Name: route.Name}, Created: route.CreationTimestamp.Unix(),
	}
	for i := range route.Spec.Rules {
		resolved.Rules = append(resolved.Rules, r.httpRule(fmt.Sprintf("HTTPRoute/%s/%d", key, i), i, &route.Spec.Rules[i])...)
	}
	return w.finish(resolved, b, route.Generation)
}

func (r *resolver) httpRule(name string, index int, spec *gwv1.HTTPRouteRule) []Rule {
	var matches []ir.Match
	for _, m := range spec.Matches {
		matches = append(matches, httpMatch(m))
	}
	if len(matches) == 0 {
		matches = []ir.Match{httpMatch(gwv1.HTTPRouteMatch{})}
	}
	a, message := r.httpAction(spec)
	if message == "" {
		message = keepSessions(spec.SessionPersistence, name, &a) //nolint:staticcheck // deprecated in the standard, and still to be served
	}
	return r.rules(name, index, matches, a, message)
}

func (r *resolver) httpAction(spec *gwv1.HTTPRouteRule) (action, string) {
	backends := make([]backendRef, 0, len(spec.BackendRefs))
	for _, b := range spec.BackendRefs {
		backends = append(backends, backendRef{BackendRef: b.BackendRef, filters: b.Filters})
	}
	a, message := r.action(spec.Filters, backends)
	if message != "" || a.forward == nil {
		return a, message
	}
	if message = patience(spec, a.forward); message != "" {
		return failing(), message
	}
	return a, ""
}

// patience reads how long a request may take and how often it is tried.
func patience(spec *gwv1.HTTPRouteRule, forward *ir.Forward) string {
	var message string
	if forward.Retry, message = retry(spec.Retry); message != "" || spec.Timeouts == nil {
		return message
	}
	if forward.RequestTimeout, message = duration("timeouts.request", spec.Timeouts.Request); message != "" {
		return message
	}
	forward.BackendTimeout, message = duration("timeouts.backendRequest", spec.Timeouts.BackendRequest)
	return message
}

func httpMatch(m gwv1.HTTPRouteMatch) ir.Match {
	match := ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}}
	if m.Path != nil && m.Path.Value != nil {
		kind := gwv1.PathMatchPathPrefix
		if m.Path.Type != nil {
			kind = *m.Path.Type
		}
		match.Path = ir.StringMatch{Kind: pathKinds[kind], Value: *m.Path.Value}
	}
	if match.Path.Kind == ir.Prefix && match.Path.Value != "/" {
		// The standard: a trailing slash does not matter to a prefix.
		match.Path.Value = strings.TrimSuffix(match.Path.Value, "/")
	}
	if m.Method != nil {
		match.Method = string(*m.Method)
	}
	for _, h := range m.Headers {
		match.Headers = appendNamed(match.Headers, strings.ToLower(string(h.Name)), h.Type != nil && *h.Type == gwv1.HeaderMatchRegularExpression, h.Value)
	}
	for _, q := range m.QueryParams {
		match.Query = appendNamed(match.Query, string(q.Name), q.Type != nil && *q.Type == gwv1.QueryParamMatchRegularExpression, q.Value)
	}
	return match
}

var pathKinds = map[gwv1.PathMatchType]ir.MatchKind{
	gwv1.PathMatchExact: ir.Exact, gwv1.PathMatchPathPrefix: ir.Prefix, gwv1.PathMatchRegularExpression: ir.Regex,
}

// appendNamed adds a match unless the name is there already: the standard has the first entry of a name win.
func appendNamed(list []ir.NamedMatch, name string, regex bool, value string) []ir.NamedMatch {
	for _, m := range list {
		if m.Name == name {
			return list
		}
	}
	kind := ir.Exact
	if regex {
		kind = ir.Regex
	}
	return append(list, ir.NamedMatch{Name: name, StringMatch: ir.StringMatch{Kind: kind, Value: value}})
}
