package route_test

import (
	"net/url"
	"regexp"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
)

// request is what the tests ask a virtual host: method, path with query, headers with names in lower case.
type request struct {
	method  string
	target  string
	headers map[string]string
}

func (r request) path() string {
	path, _, _ := strings.Cut(r.target, "?")
	return path
}

// pick finds the route for a request as Envoy does: the first that matches.
func pick(host *routev3.VirtualHost, r request) *routev3.Route {
	for _, route := range host.GetRoutes() {
		if matches(route.GetMatch(), r) {
			return route
		}
	}
	return nil
}

func matches(m *routev3.RouteMatch, r request) bool {
	headers := map[string]string{":method": r.method}
	for name, value := range r.headers {
		headers[name] = value
	}
	for _, h := range m.GetHeaders() {
		if value, ok := headers[h.GetName()]; !ok || !compare(h.GetStringMatch(), value) {
			return false
		}
	}
	parsed, err := url.Parse(r.target)
	if err != nil {
		return false
	}
	for _, q := range m.GetQueryParameters() {
		if !parsed.Query().Has(q.GetName()) || !compare(q.GetStringMatch(), parsed.Query().Get(q.GetName())) {
			return false
		}
	}
	return matchesPath(m, r.path())
}

func matchesPath(m *routev3.RouteMatch, path string) bool {
	switch by := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Path:
		return path == by.Path
	case *routev3.RouteMatch_Prefix:
		return strings.HasPrefix(path, by.Prefix)
	case *routev3.RouteMatch_PathSeparatedPrefix:
		return path == by.PathSeparatedPrefix || strings.HasPrefix(path, by.PathSeparatedPrefix+"/")
	case *routev3.RouteMatch_SafeRegex:
		return whole(by.SafeRegex.GetRegex(), path)
	default:
		return false
	}
}

func compare(m *matcherv3.StringMatcher, value string) bool {
	switch by := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		return value == by.Exact
	case *matcherv3.StringMatcher_SafeRegex:
		return whole(by.SafeRegex.GetRegex(), value)
	default:
		return false
	}
}

func whole(expression, value string) bool {
	return regexp.MustCompile(`\A(?:` + expression + `)\z`).MatchString(value)
}

// rewritten is the path after prefix_rewrite or path_rewrite.
func rewritten(route *routev3.Route, r request) string {
	action, m := route.GetRoute(), route.GetMatch()
	prefix, full := action.GetPrefixRewrite(), action.GetPathRewrite()
	if redirect := route.GetRedirect(); redirect != nil {
		prefix, full = redirect.GetPrefixRewrite(), redirect.GetPathRedirect()
	}
	switch {
	case full != "":
		return full
	case prefix != "":
		matched := m.GetPath() + m.GetPrefix() + m.GetPathSeparatedPrefix()
		return prefix + strings.TrimPrefix(r.path(), matched)
	default:
		return r.path()
	}
}
