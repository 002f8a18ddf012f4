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
		rule.matches = append(rule.matches, httpMatch(m).readings()...)
	}
	if len(rule.matches) == 0 {
		rule.matches = []requestMatch{httpMatch(gwv1.HTTPRouteMatch{})}
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

func httpMatch(m gwv1.HTTPRouteMatch) requestMatch {
	match := requestMatch{Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}}}
	if m.Path != nil {
		match.readPath(m.Path)
	}
	if m.Method != nil {
		match.Method = string(*m.Method)
	}
	for _, h := range m.Headers {
		match.addHeader(strings.ToLower(string(h.Name)), typeOf(h.Type), h.Value)
	}
	for _, q := range m.QueryParams {
		match.addParameter(string(q.Name), typeOf(q.Type), q.Value)
	}
	return match
}

// readPath has the defaults of the standard: any path, as a prefix.
func (m *requestMatch) readPath(path *gwv1.HTTPPathMatch) {
	if path.Value != nil {
		m.Path.Value = *path.Value
	}
	switch kind := typeOf(path.Type); kind {
	case "", string(gwv1.PathMatchPathPrefix):
	case string(gwv1.PathMatchExact):
		m.Path.Kind = ir.Exact
	case string(gwv1.PathMatchRegularExpression):
		m.Path.Kind = ir.Regex
	default:
		m.anyPath = true
		m.notKnown("path", kind, "use Exact, PathPrefix or RegularExpression")
	}
}
