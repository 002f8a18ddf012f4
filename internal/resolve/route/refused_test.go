package route_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/outcome"
)

// TestWhatEnvoyWouldRefuse has a route whose first rule is fine and whose second is not: the first is served, requests of the second are
// answered 500, and the route says why.
func TestWhatEnvoyWouldRefuse(t *testing.T) {
	t.Parallel()
	const (
		backend = `backendRefs: [{name: one, port: 80}]`
		askOne  = `{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: one, port: 80}}}`
	)
	for _, c := range []struct {
		name, rule, message string
		// dropped says that nothing matches any more, because the match itself is bad.
		dropped bool
	}{
		{"an invalid expression", `matches: [{path: {type: RegularExpression, value: "/b("}}]`, `path "/b(": error parsing regexp`, true},
		{
			"an expression too large for Envoy", `matches: [{path: {type: RegularExpression, value: "/b[acegikmoqsuwy]{1000}"}}]`, "too large",
			true,
		},
		{
			"an expression in a header", `matches: [{path: {value: /b}, headers: [{name: X-A, type: RegularExpression, value: "("}]}]`,
			`match on x-a "("`, true,
		},
		{"a path that is none", `matches: [{path: {value: b}}]`, `path "b" is not a path`, true},
		{"a path with a query", `matches: [{path: {value: "/b?c"}}]`, "holds no ? or #", true},
		{
			"a match on a pseudo header", `matches: [{path: {value: /b}, headers: [{name: ":path", value: x}]}]`,
			`match on header ":path" is not a name`, true,
		},
		{
			"a header that counts hops", `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [X-Gatewright-Hops]}}]`,
			"header X-Gatewright-Hops cannot be edited", false,
		},
		{
			"a header that is Host", `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: Host, value: x}]}}]`,
			"header Host cannot be edited", false,
		},
		{
			"a Host that is none", `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: "a b"}]}}]`,
			`"a b" is not a host`, false,
		},
		{
			"two hosts", `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: host, value: a.example}]}}, ` +
				`{type: URLRewrite, urlRewrite: {hostname: b.example}}]`, "filters rewrite the hostname to a.example and to b.example", false,
		},
		{
			"a line break in a header", `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: X-A, value: "a\nb"}]}}]`,
			"the value for header X-A has a line break", false,
		},
		{
			"a control character in a header",
			`filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: X-A, value: "a\u0001"}]}}]`, "control character",
			false,
		},
		{
			"a header name that is none", `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: ["a b"]}}]`,
			`header "a b" is not a name`, false,
		},
		{
			"an empty header name", `filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [""]}}]`,
			`header "" is not a name`, false,
		},
		{
			"a redirect to two lines",
			`filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: "/a\nb"}}}]`,
			"requestRedirect.path.replaceFullPath", false,
		},
		{
			"a rewrite to a path with a space",
			`filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: "/a b"}}}]`,
			"urlRewrite.path.replacePrefixMatch", false,
		},
		{
			"two authorizations", `filters: [` + askOne + `, ` + strings.Replace(askOne, "name: one", "name: two", 1) + `]`,
			"two filters of type ExternalAuth", false,
		},
		{
			"two authorizations, the first of which leads nowhere",
			`filters: [` + strings.Replace(askOne, "name: one", "name: gone", 1) + `, ` + askOne + `]`, "two filters of type ExternalAuth", false,
		},
		{"two filters CORS", `filters: [{type: CORS, cors: {}}, {type: CORS, cors: {}}]`, "two filters of type CORS", false},
		{
			"two filters that edit the headers of requests",
			`filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [a]}}, ` +
				`{type: RequestHeaderModifier, requestHeaderModifier: {remove: [b]}}]`, "two filters of type RequestHeaderModifier", false,
		},
		{
			"two redirects", `filters: [{type: RequestRedirect, requestRedirect: {port: 1}}, {type: RequestRedirect, requestRedirect: {port: 2}}]`,
			"two filters of type RequestRedirect", false,
		},
		{"a header of CORS that is none", `filters: [{type: CORS, cors: {allowHeaders: ["a b"]}}]`, `filter CORS: header "a b"`, false},
		{
			"a cookie with a semicolon", `sessionPersistence: {type: Cookie, cookie: {name: a, path: "/;Domain=x"}}`,
			"sessionPersistence.cookie.path", false,
		},
		{"a cookie name that is none", `sessionPersistence: {type: Cookie, cookie: {name: "a;b"}}`, "sessionPersistence.cookie.name", false},
		{
			"a header of a session that is none", `sessionPersistence: {type: Header, header: {name: "a b"}}`, "sessionPersistence.header.name",
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rule := c.rule
			if !strings.HasPrefix(rule, "matches") {
				rule = "matches: [{path: {value: /b}}], " + rule
			}
			f := newFixture(t, "l:80:", httpRoute("r", "1", "  rules: [{matches: [{path: {value: /a}}], "+backend+"}, {"+rule+", "+backend+"}]"))
			if got := f.request("x.org", "/a"); got != "infra/one/80" {
				t.Errorf("the good rule answers %s", got)
			}
			want := "500"
			if c.dropped {
				want = "404"
			}
			if got := f.request("x.org", "/b"); got != want {
				t.Errorf("the bad rule answers %s, want %s", got, want)
			}
			r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
			for _, condition := range r.Outcome.Parents[0].Conditions {
				if condition.Type == "PartiallyInvalid" && condition.State == outcome.True && strings.Contains(condition.Message, c.message) {
					return
				}
			}
			t.Errorf("no condition says %q: %+v", c.message, r.Outcome.Parents[0].Conditions)
		})
	}
}

// TestARuleThatGuardsIsClosedWhereItsMatchCannotBeRead has a wider route beside one whose only rule asks for an authorization.
func TestARuleThatGuardsIsClosedWhereItsMatchCannotBeRead(t *testing.T) {
	t.Parallel()
	const guard = `filters: [{type: ExtensionRef, extensionRef: {group: x.example, kind: Auth, name: oidc}}], backendRefs: [{name: one, port: 80}]`
	wide := httpRoute("wide", "1", "  rules: [{backendRefs: [{name: two, port: 80}]}]")
	for _, c := range []struct{ name, match, path, want string }{
		{"a header that is none", `{path: {value: /b}, headers: [{name: "a b", value: x}]}`, "/b/c", "500"},
		{"another path", `{path: {value: /b}, headers: [{name: "a b", value: x}]}`, "/c", "infra/two/80"},
		{"an expression", `{path: {type: RegularExpression, value: "/regex(?=x)"}}`, "/regex", "500"},
		{"an expression that may be anything", `{path: {type: RegularExpression, value: "/(?=x)"}}`, "/regex", "500"},
		{"an expression from the beginning on", `{path: {type: RegularExpression, value: "^/a(?=x)"}}`, "/b", "infra/two/80"},
		{"everything", `{path: {value: /}, headers: [{name: "a b", value: x}]}`, "/", "500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "l:80:", wide+httpRoute("r", "2", "  rules: [{matches: ["+c.match+"], "+guard+"}]"))
			if got := f.request("x.org", c.path); got != c.want {
				t.Errorf("answered %s, want %s", got, c.want)
			}
			without := strings.Replace(guard, "{type: ExtensionRef, extensionRef: {group: x.example, kind: Auth, name: oidc}}", "", 1)
			f = newFixture(t, "l:80:", wide+httpRoute("r", "2", "  rules: [{matches: ["+c.match+"], "+without+"}]"))
			if got := f.request("x.org", c.path); got != "infra/two/80" {
				t.Errorf("without a guard answered %s", got)
			}
		})
	}
}

// TestFiltersOfABackendAreNotRepeated has the second of two filters take the place of none.
func TestFiltersOfABackendAreNotRepeated(t *testing.T) {
	t.Parallel()
	const twice = `{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [a]}}, ` +
		`{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [b]}}`
	f := newFixture(t, "l:80:", httpRoute("r", "1", "  rules: [{backendRefs: [{name: one, port: 80, filters: ["+twice+"]}]}]"))
	if got := f.request("x.org", "/"); got != "500" {
		t.Errorf("answered %s", got)
	}
}

func TestWebSocketsAreStreams(t *testing.T) {
	t.Parallel()
	service := "kind: Service\nmetadata: {namespace: infra, name: s}\nspec: {ports: [{port: 80, appProtocol: kubernetes.io/ws}, {port: " +
		"81}]}\n---\n"
	f := newFixture(
		t,
		"l:80:",
		service+httpRoute("r", "1", "  rules: [{backendRefs: [{name: s, port: 80}]}, {backendRefs: [{name: s, port: 81}]}]"),
	)
	r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
	if !r.Rules[0].Forward.Streams || r.Rules[1].Forward.Streams {
		t.Errorf("rules: %+v", r.Rules)
	}
}
