package pipeline

import (
	"strings"
	"testing"
)

// TestPathsOfRulesHaveTheSpellingOfRequests has a rule with a guard, whose path is spelled in a way that requests do not have when rules
// are compared, beside a rule for all paths.
func TestPathsOfRulesHaveTheSpellingOfRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind, path string
		// want is what requests reach: v1 is behind the rule for all, v2 behind the one with the guard.
		want map[string]string
	}{
		{
			"an escaped letter in a prefix", "PathPrefix", "/%61dmin",
			map[string]string{"/admin": "v2", "/%61dmin": "v2", "/admin/x": "v2", "/adminx": "v1", "/other": "v1"},
		},
		{"an escaped letter in an exact path", "Exact", "/%61dmin", map[string]string{"/admin": "v2", "/%61dmin": "v2", "/admin/": "v1"}},
		{"an escaped dash", "PathPrefix", "/a%2db%5F%7e%2E", map[string]string{"/a-b_~.": "v2", "/a%2Db%5f~%2e": "v2", "/a": "v1"}},
		{"escaped dots are resolved", "PathPrefix", "/x/%2e%2e/admin/%2e", map[string]string{"/admin": "v2", "/x/../admin": "v2", "/x": "v1"}},
		{
			"other escapes stay, and so does their case", "PathPrefix", "/caf%c3%a9",
			map[string]string{"/caf%c3%a9": "v2", "/caf%C3%A9": "v1"},
		},
		{"what proxies escape", "PathPrefix", "/café", map[string]string{"/caf%C3%A9": "v2", "/caf": "v1"}},
		{"a character that needs no escape", "PathPrefix", "/%40admin", map[string]string{"/%40admin": "v2", "/@admin": "v1"}},
		{"an escaped slash", "PathPrefix", "/a%2fb", map[string]string{"/a/b": "error", "/a/b/c": "error", "/a": "v1"}},
		{"an escaped backslash", "Exact", "/a%5Cb", map[string]string{"/a/b": "error", "/a/b/c": "v1", "/a": "v1"}},
		{"a backslash is a slash", "PathPrefix", `/a\\b`, map[string]string{"/a/b": "v2", "/a/b/c": "v2", "/a": "v1"}},
		{"two backslashes", "PathPrefix", `/a\\\\b`, map[string]string{"/a/b": "error", "/a": "v1"}},
		{"nothing but an escaped backslash", "PathPrefix", "/%5c", map[string]string{"//": "error", "/": "v1", "/a": "v1"}},
		{"two slashes", "PathPrefix", "/a//b", map[string]string{"/a/b": "error", "/a": "v1"}},
		{"an expression is compared as it is written", "RegularExpression", "/%61dmin", map[string]string{"/admin": "v1", "/%61dmin": "v1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answer := answering(t, guardedPath(c.kind, c.path))
			for path, want := range c.want {
				if got := answer("http://a.example" + path); !strings.Contains(got, want) {
					t.Errorf("%s answers %s, want %s", path, got, want)
				}
			}
		})
	}
}

// TestARuleWithAnEscapedSlashIsClosedWhereListenersKeepThem has a listener that keeps slashes as they come.
func TestARuleWithAnEscapedSlashIsClosedWhereListenersKeepThem(t *testing.T) {
	t.Parallel()
	const keeps = `---
apiVersion: gatewright.dev/v1alpha1
kind: ClientTrafficPolicy
metadata: {namespace: infra, name: keeps}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  path: {escapedSlashesAction: KeepUnchanged, disableMergeSlashes: true}
`
	for path, requests := range map[string][]string{
		"/a%2Fb": {"/a%2Fb", "/a%2fb", "/a%2fb/c", "/a/b"}, "/a%2fb%5Cc": {"/a%2Fb%5cc", "/a%2fb%5cc"}, "/a//b": {"/a//b", "/a/b"},
		"/%5c": {"/%5c", "/%5C", "/%5c/x", "//", "//x", "///x"},
	} {
		answer := answering(t, guardedPath("PathPrefix", path)+keeps)
		for _, request := range requests {
			if got := answer("http://a.example" + request); got != "error" {
				t.Errorf("with a rule for %s, %s answers %s", path, request, got)
			}
		}
		if got := answer("http://a.example/a"); !strings.Contains(got, "v1") {
			t.Errorf("with a rule for %s, /a answers %s", path, got)
		}
	}
}

// TestAnEscapedBackslashDoesNotCloseAllPaths has a rule with a guard before the one for all paths, so that it comes first where both have
// the same path.
func TestAnEscapedBackslashDoesNotCloseAllPaths(t *testing.T) {
	t.Parallel()
	const wide = "    - backendRefs: [{name: v1, port: 80}]\n"
	answer := answering(t, strings.Replace(guardedPath("PathPrefix", "/%5c"), wide, "", 1)+wide)
	for path, want := range map[string]string{"/": "v1", "/a": "v1", "//": "error"} {
		if got := answer("http://a.example" + path); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", path, got, want)
		}
	}
}

// TestTheSameSpellingIsTheSameMatch has two rules whose paths differ in their spelling only.
func TestTheSameSpellingIsTheSameMatch(t *testing.T) {
	t.Parallel()
	g := loaded(t, sameMatch("older", "/admin", 1)+sameMatch("younger", "/%61dmin", 2))
	if got := message(t, g, "younger", "Accepted"); !strings.Contains(got, "rule 0 gets no requests") {
		t.Errorf("the younger route says %q", got)
	}
	g = loaded(t, sameMatch("escaped", "/a%2Fb", 1))
	if got := message(t, g, "escaped", "Accepted"); !strings.Contains(got, `path "/a%2Fb"`) || !strings.Contains(got, "/a/b") {
		t.Errorf("the route says %q", got)
	}
}

// TestQueryParametersAreComparedAsTheyAreSent has a rule with a guard for a parameter: what is escaped, and what comes behind, is not seen.
func TestQueryParametersAreComparedAsTheyAreSent(t *testing.T) {
	t.Parallel()
	const condition = "queryParams: [{name: role, value: admin}], "
	answer := answering(t, strings.Replace(guardedPath("PathPrefix", "/"), "matches: [{", "matches: [{"+condition, 1))
	for query, want := range map[string]string{
		"role=admin": "v2", "role=admin&role=user": "v2", "role=user&role=admin": "v1", "role=%61dmin": "v1", "Role=admin": "v1",
	} {
		if got := answer("http://a.example/?" + query); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", query, got, want)
		}
	}
}

// guardedPath is a route for all paths, and a rule of it with a guard.
func guardedPath(kind, path string) string {
	return `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec:
  parentRefs: [{name: web}]
  rules:
    - backendRefs: [{name: v1, port: 80}]
    - matches: [{path: {type: ` + kind + `, value: "` + path + `"}}]
      filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v1, port: 80}}}]
      backendRefs: [{name: v2, port: 80}]
`
}
