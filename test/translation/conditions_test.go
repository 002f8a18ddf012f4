//go:build translation

package translation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/cel"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/test/live"
)

// parsed is an expression of a policy that has no other.
func parsed(text string) (*ir.CEL, error) {
	return cel.Parse(text, &cel.Budget{Regexes: &expression.Budget{Limits: limits.Defaults()}})
}

func condition(t *testing.T, text string) *ir.CEL {
	t.Helper()
	c, err := parsed(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConditions: an expression that cannot be evaluated allows nothing, and denies.
func TestConditions(t *testing.T) {
	t.Parallel()
	p := startProxy(t, guarded(&ir.RequestPolicy{Authorization: []ir.Authorization{
		{Policy: policyName, Allow: true, Rules: []ir.AuthorizationRule{
			{CEL: condition(t, `request.path.startsWith('/tenant') && request.headers['x-tenant'] == 'eve'`)},
			{CEL: condition(t, `'x-twice' in request.headers && request.headers['x-twice'].matches('(^|,) *eve *(,|$)')`)},
			{CEL: condition(t, `request.url_path == '/admin' && !('x-admin' in request.headers)`)},
		}},
		{Policy: ir.Name{Namespace: "app", Name: "route"}, Rules: []ir.AuthorizationRule{
			{Allow: true, Methods: []string{"GET"}, CEL: condition(t, `request.path.matches('^/[a-z]*([?].*)?$') && source.address.startsWith('127.')`)},
			{Allow: true, CEL: condition(t, `request.headers['x-any'] == 'yes'`)},
		}},
	}}), nil)
	header := func(name, value string) map[string]string { return map[string]string{name: value} }
	for _, a := range []asked{
		{name: "no rule denies", path: "/", want: 200},
		{name: "a path that no rule allows", path: "/1", want: 403},
		{name: "another rule allows it", path: "/1", headers: header("X-Any", "yes"), want: 200},
		{name: "a tenant", path: "/tenant", headers: header("X-Tenant", "ali"), want: 200},
		{name: "the tenant that is denied", path: "/tenant", headers: header("X-Tenant", "eve"), want: 403},
		{name: "no tenant, of which nothing can be said", path: "/tenant", want: 403},
		{name: "a header twice", path: "/", headers: header("X-Twice", "ali\neve"), want: 403},
		{name: "a header twice, the other way round", path: "/", headers: header("X-Twice", "eve\nali"), want: 403},
		{name: "another header twice", path: "/", headers: header("X-Twice", "ali\nevelyn"), want: 200},
		{name: "a query", path: "/admin?a=b", want: 403},
		{name: "the header of admins", path: "/admin?a=b", headers: header("X-Admin", "1"), want: 200},
	} {
		p.check(t, a)
	}
}

// TestConditionsAboutTextsThatAreNotUTF8: no dot of a regular expression matches a byte that is not UTF-8, so nothing can be said of such a
// text. It is neither allowed nor passes what denies, however the expression uses the answer.
func TestConditionsAboutTextsThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	deny := func(text string) ir.AuthorizationRule { return ir.AuthorizationRule{CEL: condition(t, text)} }
	allow := func(text string) ir.AuthorizationRule {
		return ir.AuthorizationRule{CEL: condition(t, text), Allow: true}
	}
	p := startProxy(t, guarded(&ir.RequestPolicy{Authorization: []ir.Authorization{
		{Policy: policyName, Allow: true, Rules: []ir.AuthorizationRule{
			deny(`request.path.matches('^/cel.*x$')`),
			deny(`'x-a' in request.headers && request.headers['x-a'].matches('^eve[^/]*$')`),
			deny(`'x-b' in request.headers && request.method == 'GET' && matches(request.headers['x-b'], '^ali$')`),
		}},
		{Policy: ir.Name{Namespace: "app", Name: "route"}, Rules: []ir.AuthorizationRule{
			allow(`!('x-c' in request.headers) || !request.headers['x-c'].matches('^eve.*$')`),
		}},
	}}), nil)
	for _, a := range []asked{
		{name: "ASCII in a header", headers: map[string]string{"X-A": "evelyn"}, want: 403},
		{name: "UTF-8 in a header", headers: map[string]string{"X-A": "eve\u00e9"}, want: 403},
		{name: "another byte in a header", headers: map[string]string{"X-A": "eve\xff"}, want: 403},
		{name: "half a character", headers: map[string]string{"X-A": "eve\xe2\x82"}, want: 403},
		{name: "another header", headers: map[string]string{"X-A": "ali"}, want: 200},
		{name: "UTF-8 in another header", headers: map[string]string{"X-A": "\u00e9"}, want: 200},
		{name: "another byte where there is no dot", headers: map[string]string{"X-B": "\xff"}, want: 200},
		{name: "no dot", headers: map[string]string{"X-B": "ali"}, want: 403},
		{name: "not allowed", headers: map[string]string{"X-C": "evelyn"}, want: 403},
		{name: "not allowed, with another byte", headers: map[string]string{"X-C": "eve\xff"}, want: 403},
		{name: "allowed", headers: map[string]string{"X-C": "ali"}, want: 200},
	} {
		p.check(t, a)
	}
	for path, want := range map[string]int{"/cel?ax": 403, "/cel?\xffx": 403, "/cel?\u00e9x": 403, "/other?\u00e9x": 200} {
		answer, err := live.RawHTTP2(t.Context(), p.address, nil, nil, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", path)
		if err != nil || answer.Status != want {
			t.Errorf("%q: %d, %v, want %d", path, answer.Status, err, want)
		}
	}
}

// TestConditionsAtTheLimits: Envoy takes the largest and deepest expressions that are accepted.
func TestConditionsAtTheLimits(t *testing.T) {
	t.Parallel()
	repeat := strings.Repeat
	var rules []ir.AuthorizationRule
	// largest takes the largest of expressions that grow.
	largest := func(of func(int) string) {
		var last *ir.CEL
		for n := 1; n < 200; n++ {
			c, err := parsed(of(n))
			if err != nil {
				break
			}
			last = c
		}
		if last == nil {
			t.Fatalf("%s is not accepted", of(1))
		}
		rules = append(rules, ir.AuthorizationRule{CEL: last}, ir.AuthorizationRule{CEL: last, Allow: true})
	}
	largest(func(n int) string { return "metadata" + repeat(".a", n) + " == 'x'" })
	largest(func(n int) string { return "metadata" + repeat("['a']", n) + " == 'x'" })
	largest(func(n int) string { return repeat("connection.mtls ? true : ", n) + "false" })
	largest(func(n int) string { return "1 < " + repeat("1 + ", n) + "1" })
	largest(func(n int) string { return repeat("[", n) + repeat("]", n) + " == []" })
	largest(func(n int) string { return repeat("{'a': ", n) + "1" + repeat("}", n) + " == {}" })
	largest(func(n int) string { return repeat("!(true == ", n) + "true" + repeat(")", n) })
	largest(func(n int) string { return repeat("[", n) + "request.path.matches('.')" + repeat("]", n) + " == []" })
	largest(func(n int) string {
		return repeat("(", n) + "request.path" + repeat(".matches('.') ? request.path : 'a')", n) + " == ''"
	})
	for _, part := range []string{
		"a", "[a-z]", "[ace]", ".", "(?s:.)", "[^a]", "[^/?]", "(?i:k)", "(?i:s)", "(?i:a)", "(?i:[k-s])", "a?", "(a*b)", "[^/]+/", "(?:.*x)",
		"(a)", "(?:a|bc|[^d])", `\W`, `\D`, `\S`, `\bx\B`, "(?:^a$)", "(?:)", "(?:a{0,3})", "(?:[a-c]{2,}?)",
	} {
		escaped := strings.ReplaceAll(part, `\`, `\\`)
		largest(func(n int) string { return fmt.Sprintf("request.path.matches('(?:%s){%d}')", escaped, n) })
		largest(func(n int) string { return fmt.Sprintf("request.path.matches('%s')", repeat(escaped, n)) })
	}
	for _, regex := range someRegexes(500) {
		if c, err := parsed("request.path.matches('" + strings.ReplaceAll(regex, `\`, `\\`) + "')"); err == nil {
			rules = append(rules, ir.AuthorizationRule{CEL: c})
		}
	}
	t.Logf("%d expressions", len(rules))
	startProxy(t, guarded(&ir.RequestPolicy{Authorization: []ir.Authorization{{Policy: policyName, Rules: rules}}}), nil)
}

// someRegexes are made of parts at random, the same each time.
func someRegexes(count int) []string {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	parts := []string{"a", "k", "[^/]", ".", "[a-z0-9_]", `\d`, `\W`, "/", `\.`, "[^a-z]", "[[:^alpha:]]", "(?i:x)", "(?i:sk)"}
	joins := []string{"%s%s", "%s%s", "(?:%s|%s)", "(%s)%s", "(?:%s)?%s", "(?:%s)*%s", "(?:%s)+?%s", "(?:%s){2,5}%s", "^%s%s$", "%s(?s:%s)"}
	all := make([]string, count)
	for i := range all {
		for range 1 + random.IntN(12) {
			all[i] = fmt.Sprintf(joins[random.IntN(len(joins))], all[i], parts[random.IntN(len(parts))])
		}
	}
	return all
}
