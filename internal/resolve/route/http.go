package route

import (
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// HTTP resolves the HTTPRoute of that key.
func HTTP(v *store.View, in Inputs, key string) Resolved {
	route, ok := in.Objects.HTTPRoutes.Get(v, key)
	if !ok {
		return Resolved{}
	}
	if reason := store.Unreadable(route); reason != "" {
		return in.unreadable(v, httpRequests(route), reason)
	}
	return in.requests(v, httpRequests(route))
}

func httpRule(spec *gwv1.HTTPRouteRule) requestRule {
	rule := requestRule{
		filters:  spec.Filters,
		name:     ruleName(spec.Name),
		sessions: spec.SessionPersistence, //nolint:staticcheck // deprecated in the standard, and still to be served
		complete: func(a *action) string { return timeoutsAndRetries(spec, a) },
	}
	for _, m := range spec.Matches {
		rule.matches = append(rule.matches, httpMatch(m))
	}
	if len(rule.matches) == 0 {
		rule.matches = []ir.Match{httpMatch(gwv1.HTTPRouteMatch{})}
	}
	for _, b := range spec.BackendRefs {
		rule.backends = append(rule.backends, backendRef{BackendRef: b.BackendRef, filters: b.Filters})
	}
	return rule
}

// timeoutsAndRetries reads how long a request may take and how often it is tried.
func timeoutsAndRetries(spec *gwv1.HTTPRouteRule, a *action) string {
	if spec.Retry == nil && spec.Timeouts == nil {
		return ""
	}
	policy := a.settings()
	var message string
	if policy.Retry, message = retry(spec.Retry); message != "" || spec.Timeouts == nil {
		return message
	}
	if policy.RequestTimeout, message = duration("timeouts.request", spec.Timeouts.Request); message != "" {
		return message
	}
	policy.BackendTimeout, message = duration("timeouts.backendRequest", spec.Timeouts.BackendRequest)
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
		match.Headers = appendNamed(match.Headers, strings.ToLower(string(h.Name)),
			h.Type != nil && *h.Type == gwv1.HeaderMatchRegularExpression, h.Value)
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
