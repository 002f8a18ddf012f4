package route_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/limits"
)

const (
	unknownFilter = `filters: [{type: ExtensionRef, extensionRef: {group: x.example, kind: Auth, name: oidc}}], ` +
		`backendRefs: [{name: one, port: 80}]`
	toOne = `backendRefs: [{name: one, port: 80}]`
	toTwo = `backendRefs: [{name: two, port: 80}]`
)

// TestAClosedMatchKeepsItsPlace has a rule that guards, whose match cannot be read, beside an open one: what the first may mean is
// never served by the second, and what it cannot mean is.
func TestAClosedMatchKeepsItsPlace(t *testing.T) {
	t.Parallel()
	const (
		role  = `headers: [{name: X-Role, type: RegularExpression, value: "(?=a)"}]`
		admin = `{path: {value: /admin}, method: GET, ` + role + `}`
		get   = `{path: {value: /admin}, method: GET}`
		wider = `{path: {value: /admin}}`
	)
	for _, c := range []struct {
		name, guarded, other, path string
		headers                    []string
		closed                     bool
	}{
		{"method and header", admin, get, "/admin", []string{"x-role=a"}, true},
		{"no such header", admin, get, "/admin", nil, false},
		{"another method", `{path: {value: /admin}, method: POST, ` + role + `}`, wider, "/admin", []string{"x-role=a"}, false},
		{"a wider rule", admin, wider, "/admin", []string{"x-role=a"}, true},
		{"no path", `{` + role + `}`, `{path: {value: /}}`, "/x", []string{"x-role=a"}, true},
		{"no path, and a method", `{method: GET, ` + role + `}`, `{method: GET}`, "/x", []string{"x-role=a"}, true},
		{"a name that is none", `{path: {value: /a}, headers: [{name: "a b", value: x}]}`, `{path: {value: /a}}`, "/a", nil, true},
		{
			"the other headers", `{path: {value: /a}, headers: [{name: "X-C", value: c}, {name: X-Role, type: RegularExpression, value: "("}]}`,
			`{path: {value: /a}}`, "/a",
			[]string{"x-role=a"},
			false,
		},
		{
			"a query parameter", `{path: {value: /a}, queryParams: [{name: q, type: RegularExpression, value: "("}]}`,
			`{path: {value: /a}}`, "/a", nil, true,
		},
		{
			"an expression for the path is as long", `{path: {type: RegularExpression, value: "/admin(?=xxxxxx)"}}`,
			`{path: {type: RegularExpression, value: "/admin.*.*.*.*"}}`, "/admin", nil, true,
		},
		{
			"an expression for the path that may be anything", `{path: {type: RegularExpression, value: "(?=xxxxxx)/x"}}`,
			`{path: {type: RegularExpression, value: "/a.*.*"}}`, "/admin", nil, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for order, rules := range []string{
				fmt.Sprintf("{matches: [%s], %s}, {matches: [%s], %s}", c.guarded, unknownFilter, c.other, toTwo),
				fmt.Sprintf("{matches: [%s], %s}, {matches: [%s], %s}", c.other, toTwo, c.guarded, unknownFilter),
			} {
				f := newFixture(t, "l:80:", httpRoute("r", "1", "  rules: ["+rules+"]"))
				want := "infra/two/80"
				if c.closed {
					want = "500"
				}
				if got := f.request("x.org", c.path, c.headers...); got != want {
					t.Errorf("order %d: answered %s, want %s", order, got, want)
				}
			}
		})
	}
}

// TestAClosedMatchWithANameThatIsNoneKeepsItsPlace has two rules of the same rank, of which the first wins.
func TestAClosedMatchWithANameThatIsNoneKeepsItsPlace(t *testing.T) {
	t.Parallel()
	first := `{matches: [{path: {value: /a}, headers: [{name: "a b", value: x}]}], ` + unknownFilter + "}"
	second := `{matches: [{path: {value: /a}, headers: [{name: X-B, value: b}]}], ` + toTwo + "}"
	f := newFixture(t, "l:80:", httpRoute("r", "1", "  rules: ["+first+", "+second+"]"))
	if got := f.request("x.org", "/a", "x-b=b"); got != "500" {
		t.Errorf("answered %s", got)
	}
}

// TestAClosedCall is the same for calls of gRPC, whose service and method are two expressions.
func TestAClosedCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, path string
		closed             bool
	}{
		{"a service", `{type: RegularExpression, service: "(?!x).*"}`, "/a.B/Get", true},
		{"a service, and a method that fits", `{type: RegularExpression, service: "(?!x).*", method: "G.t"}`, "/a.B/Get", true},
		{"a service, and a method that does not fit", `{type: RegularExpression, service: "(?!x).*", method: "G.t"}`, "/a.B/Set", false},
		{"a method, and a service that fits", `{type: RegularExpression, service: "a[.]B", method: "(?!x).*"}`, "/a.B/Get", true},
		{"a method, and a service that does not fit", `{type: RegularExpression, service: "a[.]B", method: "(?!x).*"}`, "/a.C/Get", false},
		{"the beginning of a method", `{type: RegularExpression, method: "Get(?!x).*"}`, "/a.C/GetAll", true},
		{"another beginning of a method", `{type: RegularExpression, method: "Get(?!x).*"}`, "/a.C/SetAll", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rules := fmt.Sprintf("{matches: [{method: %s}], %s}, {%s}", c.method, unknownFilter, toTwo)
			want := "infra/two/80/http2"
			if c.closed {
				want = "503"
			}
			f := newFixture(t, "l:80:", grpcRoute("r", "1", "  rules: ["+rules+"]"))
			if got := f.request("x.org", c.path); got != want {
				t.Errorf("answered %s, want %s", got, want)
			}
		})
	}
}

// TestAMatchBeyondTheLimitIsClosed has a route whose expressions are used up by its first rules.
func TestAMatchBeyondTheLimitIsClosed(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	for i := range 12 {
		fmt.Fprintf(&rules, `{matches: [{path: {type: RegularExpression, value: "/r%d/[acegi]{500}"}}], %s}, `, i, toTwo)
	}
	const guarded = `{path: {type: RegularExpression, value: "/admin/[acegi]{500}"}, method: GET}`
	rules.WriteString("{matches: [" + guarded + "], " + unknownFilter + "}, {" + toTwo + "}")
	f := newFixture(t, "l:80:", httpRoute("r", "1", "  rules: ["+rules.String()+"]"))
	if got := f.request("x.org", "/admin/a"); got != "500" {
		t.Errorf("answered %s", got)
	}
	r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
	if limit := limits.Defaults().Expressions; r.Expressions > limit+limits.Defaults().Expression {
		t.Errorf("the expressions have %d instructions, of %d", r.Expressions, limit)
	}
	if got := f.request("x.org", "/admin/a", ":method=POST"); got != "infra/two/80" {
		t.Errorf("another method is answered %s", got)
	}
}
