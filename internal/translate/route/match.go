package route

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

// match completes a match on the path with the rest of the conditions. A GRPCRoute has its hosts for itself, so its rules take what else
// comes there too: Connect, and what browsers ask before gRPC-Web.
func match(path *routev3.RouteMatch, m *ir.Match) *routev3.RouteMatch {
	if m.Method != "" {
		path.Headers = append(path.Headers, headerMatch(ir.NamedMatch{Name: ":method", StringMatch: ir.StringMatch{Value: m.Method}}))
	}
	for _, header := range m.Headers {
		path.Headers = append(path.Headers, headerMatch(header))
	}
	for _, parameter := range m.Query {
		path.QueryParameters = append(path.QueryParameters, &routev3.QueryParameterMatcher{
			Name: parameter.Name,
			QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{
				StringMatch: filter.StringMatch(parameter.StringMatch),
			},
		})
	}
	for _, cookie := range m.Cookies.All() {
		path.Cookies = append(path.Cookies, &routev3.CookieMatcher{
			Name: cookie.Name, StringMatch: filter.StringMatch(cookie.StringMatch),
		})
	}
	return path
}

// pathMatch compares the path without its query. No value matches every path.
func pathMatch(m ir.StringMatch) *routev3.RouteMatch {
	switch {
	case m.Value == "":
		return plainPrefix("/")
	case m.Kind == ir.Exact:
		return exactPath(m.Value)
	case m.Kind == ir.Regex:
		return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: regex(m.Value)}}
	}
	prefix := segments(m.Value)
	if prefix == "" {
		return plainPrefix("/")
	}
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: prefix}}
}

// segments is a prefix without the trailing slash, which Gateway API ignores.
func segments(prefix string) string { return strings.TrimRight(prefix, "/") }

func exactPath(path string) *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: path}}
}

func plainPrefix(prefix string) *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: prefix}}
}

func headerMatch(m ir.NamedMatch) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{
		Name:                 m.Name,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: filter.StringMatch(m.StringMatch)},
	}
}

// regex is compared with the whole value, wherever Envoy uses it here.
func regex(expression string) *matcherv3.RegexMatcher {
	return &matcherv3.RegexMatcher{Regex: expression}
}
