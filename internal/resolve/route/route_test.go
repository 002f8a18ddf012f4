package route_test

import (
	"strings"
	"testing"
)

// requests lists, for routes and a listener, where a request goes.
var requests = []struct {
	name, listeners, objects, host, path, want string
}{
	{
		"a route without hostnames answers every host", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: one, port: 80}]}]"), "x.org", "/", "infra/one/80",
	},
	{
		"the longer prefix wins",
		"a:80:",
		httpRoute(
			"r",
			"1",
			"  rules: [{matches: [{path: {value: /}}], backendRefs: [{name: one, port: 80}]}, {matches: [{path: {value: /a}}], backendRefs: "+
				"[{name: two, port: 80}]}]",
		),
		"x.org",
		"/a/b",
		"infra/two/80",
	},
	{
		"a prefix ends at a slash", "a:80:",
		httpRoute("r", "1", "  rules: [{matches: [{path: {value: /a/}}], backendRefs: [{name: one, port: 80}]}]"), "x.org", "/ab", "404",
	},
	{
		"an exact path comes before a prefix",
		"a:80:",
		httpRoute(
			"r",
			"1",
			"  rules: [{matches: [{path: {value: /a}}], backendRefs: [{name: one, port: 80}]}, {matches: [{path: {type: Exact, value: /a}}], "+
				"backendRefs: [{name: two, port: 80}]}]",
		),
		"x.org",
		"/a",
		"infra/two/80",
	},
	{
		"a regular expression comes before the prefix of everything",
		"a:80:",
		httpRoute(
			"r",
			"1",
			"  rules: [{matches: [{path: {value: /}}], backendRefs: [{name: one, port: 80}]}, {matches: [{path: {type: RegularExpression, "+
				"value: .*regex.*}}], backendRefs: [{name: two, port: 80}]}]",
		),
		"x.org",
		"/regex",
		"infra/two/80",
	},
	{
		"of equal matches the older route wins",
		"a:80:",
		httpRoute(
			"a",
			"2",
			"  rules: [{backendRefs: [{name: one, port: 80}]}]",
		) + httpRoute(
			"b",
			"1",
			"  rules: [{backendRefs: [{name: two, port: 80}]}]",
		),
		"x.org",
		"/",
		"infra/two/80",
	},
	{
		"of equal age the first name wins",
		"a:80:",
		httpRoute(
			"b",
			"1",
			"  rules: [{backendRefs: [{name: one, port: 80}]}]",
		) + httpRoute(
			"a",
			"1",
			"  rules: [{backendRefs: [{name: two, port: 80}]}]",
		),
		"x.org",
		"/",
		"infra/two/80",
	},
	{
		"the route's own hostname decides, not what the listener leaves of it",
		"a:80:abc.example.com",
		httpRoute(
			"a",
			"1",
			"  hostnames: ['*.example.com']\n  rules: [{matches: [{path: {value: /path/longer}}], backendRefs: [{name: one, port: 80}]}]",
		) +
			httpRoute(
				"b",
				"2",
				"  hostnames: [abc.example.com]\n  rules: [{matches: [{path: {value: /path}}], backendRefs: [{name: two, port: 80}]}]",
			),
		"abc.example.com",
		"/path/longer",
		"infra/two/80",
	},
	{
		"what the most specific route does not match falls through", "a:80:",
		httpRoute("a", "1", "  hostnames: ['*.example.com']\n  rules: [{backendRefs: [{name: one, port: 80}]}]") +
			httpRoute(
				"b",
				"2",
				"  hostnames: [abc.example.com]\n  rules: [{matches: [{path: {value: /path}}], backendRefs: [{name: two, port: 80}]}]",
			),
		"abc.example.com", "/else", "infra/one/80",
	},
	{
		"a listener keeps its hostname from a wider one",
		"wide:80:*.example.com narrow:80:abc.example.com",
		strings.Replace(
			httpRoute("a", "1", "  rules: [{backendRefs: [{name: one, port: 80}]}]"),
			"{name: gw}",
			"{name: gw, sectionName: wide}",
			1,
		),
		"abc.example.com",
		"/",
		"404",
	},
	{
		"a rule whose backends are all missing answers 500", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: none, port: 80}]}]"), "x.org", "/", "500",
	},
	{
		"a rule with a filter that is not served answers 500 and the others go on",
		"a:80:",
		httpRoute(
			"r",
			"1",
			"  rules: [{matches: [{path: {value: /auth}}], filters: [{type: ExternalAuth}], backendRefs: [{name: one, port: 80}]}, "+
				"{backendRefs: [{name: two, port: 80}]}]",
		),
		"x.org",
		"/auth",
		"500",
	},
	{
		"a route with one rule that is not served keeps its requests from a wider one", "a:80:",
		httpRoute("wide", "1", "  hostnames: [x.org]\n  rules: [{backendRefs: [{name: one, port: 80}]}]") +
			httpRoute(
				"r",
				"2",
				"  hostnames: [x.org]\n  rules: [{matches: [{path: {value: /admin}}], filters: [{type: ExtensionRef, extensionRef: {group: "+
					"x.example, kind: Auth, name: oidc}}], backendRefs: [{name: one, port: 80}]}]",
			),
		"x.org", "/admin/x", "500",
	},
	{
		"a route with one rule that is not served keeps its requests from a wider hostname", "a:80:",
		httpRoute("wide", "1", "  rules: [{backendRefs: [{name: one, port: 80}]}]") +
			httpRoute(
				"r",
				"2",
				"  hostnames: [x.org]\n  rules: [{filters: [{type: ExtensionRef, extensionRef: {group: x.example, kind: Auth, name: oidc}}], "+
					"backendRefs: [{name: one, port: 80}]}]",
			),
		"x.org", "/", "500",
	},
	{
		"a GRPCRoute with one rule that is not served keeps its calls and answers 503", "a:80:",
		grpcRoute("wide", "1", "  rules: [{backendRefs: [{name: two, port: 81}]}]") +
			grpcRoute(
				"r",
				"2",
				"  rules: [{matches: [{method: {service: a.B}}], filters: [{type: ExtensionRef, extensionRef: {group: x.example, kind: Auth, name: "+
					"oidc}}], backendRefs: [{name: two, port: 81}]}]",
			),
		"x.org", "/a.B/C", "503",
	},
	{
		"a rule of a GRPCRoute whose backends are all missing answers 503", "a:80:",
		grpcRoute("r", "1", "  rules: [{backendRefs: [{name: none, port: 80}]}]"), "x.org", "/a.B/C", "503",
	},
	{
		"removing the Host header is not served",
		"a:80:",
		httpRoute(
			"r",
			"1",
			"  rules: [{matches: [{path: {value: /x}}], filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [Host]}}], "+
				"backendRefs: [{name: one, port: 80}]}, {backendRefs: [{name: two, port: 80}]}]",
		),
		"x.org",
		"/x",
		"500",
	},
	{
		"a redirect names the listener's port",
		"a:80: b:8080:",
		httpRoute(
			"r",
			"1",
			"  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: to.org}}]}]",
		),
		"x.org",
		"/",
		"redirect to to.org:0",
	},
	{
		"a backend elsewhere needs a grant", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: far, namespace: other, port: 80}]}]"), "x.org", "/", "500",
	},
	{
		"a grant allows a backend elsewhere", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: far, namespace: other, port: 80}]}]") +
			"kind: ReferenceGrant\nmetadata: {namespace: other, name: g}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, " +
			"namespace: infra}], to: [{group: '', kind: Service}]}\n",
		"x.org", "/", "other/far/80",
	},
	{
		"a Service may ask for HTTP/2", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: two, port: 81}]}]"), "x.org", "/", "infra/two/81/http2",
	},
	{
		"a gRPC method is a path",
		"a:80:",
		"kind: GRPCRoute\nmetadata: {namespace: infra, name: g}\nspec:\n  parentRefs: [{name: gw}]\n  rules: [{matches: [{method: {service: " +
			"pkg.S, method: Get}}], backendRefs: [{name: one, port: 80}]}]",
		"x.org",
		"/pkg.S/Get",
		"infra/one/80/http2",
	},
}

func TestRequestsReachTheirBackends(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := newFixture(t, c.listeners, c.objects).request(c.host, c.path); got != c.want {
				t.Errorf("GET %s%s → %s, want %s", c.host, c.path, got, c.want)
			}
		})
	}
}
