package route_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/outcome"
)

// TestATypeOfAMatchThatIsNotKnown has types of a newer definition: they are never taken for another type. A rule that guards is closed for
// all that it may mean, and any other is left out.
func TestATypeOfAMatchThatIsNotKnown(t *testing.T) {
	t.Parallel()
	const other = `{path: {value: /}}`
	for _, c := range []struct {
		name, match, path string
		headers           []string
		// open and guarded are the answers where the rule has no guard and where it has one.
		open, guarded, message string
	}{
		{"path", `{path: {type: Glob, value: "/a*"}}`, "/a*", nil, "infra/two/80", "500", `match on path: type "Glob" is not known`},
		{"path of another request", `{path: {type: Glob, value: "/a*"}}`, "/b", nil, "infra/two/80", "500", `"Glob"`},
		{"header", `{path: {value: /a}, headers: [{name: X-A, type: Prefix, value: v}]}`, "/a", []string{"x-a=v"}, "infra/two/80", "500", "header x-a"},
		{"header that is not there", `{path: {value: /a}, headers: [{name: X-A, type: Absent, value: v}]}`, "/a", nil, "infra/two/80", "500", `"Absent"`},
		{
			"header of a request to another path", `{path: {value: /a}, headers: [{name: X-A, type: Prefix, value: v}]}`, "/b", nil,
			"infra/two/80", "infra/two/80", `"Prefix"`,
		},
		{
			"header, beside another", `{path: {value: /a}, headers: [{name: X-A, type: Prefix, value: v}, {name: X-B, value: b}]}`, "/a", nil,
			"infra/two/80", "infra/two/80", `"Prefix"`,
		},
		{
			"header that is repeated", `{path: {value: /a}, headers: [{name: X-A, type: Prefix, value: v}, {name: x-a, value: b}]}`, "/a", nil,
			"infra/two/80", "500", `"Prefix"`,
		},
		{
			"query parameter", `{path: {value: /a}, queryParams: [{name: q, type: Prefix, value: v}]}`, "/a", nil, "infra/two/80", "500",
			`match on query parameter q: type "Prefix" is not known`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for action, want := range map[string]string{toOne: c.open, unknownFilter: c.guarded} {
				f := newFixture(t, "l:80:", httpRoute("r", "1", fmt.Sprintf(
					"  rules: [{matches: [%s], %s}, {matches: [%s], %s}]", c.match, action, other, toTwo)))
				if got := f.request("x.org", c.path, c.headers...); got != want {
					t.Errorf("answered %s, want %s, with %s", got, want, action)
				}
				if message := f.partlyInvalid("HTTPRoute/infra/r"); !strings.Contains(message, c.message) {
					t.Errorf("the route reports %q", message)
				}
			}
		})
	}
}

// TestATypeOfAMethodThatIsNotKnown is the same for calls of gRPC.
func TestATypeOfAMethodThatIsNotKnown(t *testing.T) {
	t.Parallel()
	for want, rule := range map[string]string{
		"503":                `{matches: [{method: {type: Prefix, service: a.B, method: Get}}], ` + unknownFilter + `}`,
		"infra/two/80/http2": `{matches: [{method: {type: Prefix, service: a.B, method: Get}}], ` + toOne + `}`,
	} {
		f := newFixture(t, "l:80:", grpcRoute("r", "1", "  rules: ["+rule+", {"+toTwo+"}]"))
		if got := f.request("x.org", "/a.B/Get"); got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
		if message := f.partlyInvalid("GRPCRoute/infra/r"); !strings.Contains(message, `match on method: type "Prefix" is not known`) {
			t.Errorf("the route reports %q", message)
		}
	}
}

// TestATypeOfAPathThatIsNotKnownLeavesOtherNamespacesAlone has a route of another namespace with the same hostname.
func TestATypeOfAPathThatIsNotKnownLeavesOtherNamespacesAlone(t *testing.T) {
	t.Parallel()
	other := strings.Replace(httpRoute("other", "2", "  rules: [{matches: [{path: {value: /b}}], backendRefs: [{name: far, port: 80}]}]"),
		"namespace: infra", "namespace: other", 1)
	other = strings.Replace(other, "[{name: gw}]", "[{name: gw, namespace: infra}]", 1)
	f := newFixture(t, "l:80::all", httpRoute("r", "1", `  rules: [{matches: [{path: {type: Glob, value: "/a*"}}], `+unknownFilter+"}]")+
		httpRoute("wide", "1", "  rules: [{matches: [{path: {value: /}}], "+toTwo+"}]")+other)
	for path, want := range map[string]string{"/b": "other/far/80", "/a": "500", "/c": "500"} {
		if got := f.request("x.org", path); got != want {
			t.Errorf("%s is answered %s, want %s", path, got, want)
		}
	}
}

// partlyInvalid is the message of a route some of whose rules are invalid.
func (f fixture) partlyInvalid(route string) string {
	r, _ := f.routes.Get(nil, route)
	for _, parent := range r.Outcome.Parents {
		for _, c := range parent.Conditions {
			if c.Type == "PartiallyInvalid" && c.State == outcome.True {
				return c.Message
			}
		}
	}
	return ""
}
