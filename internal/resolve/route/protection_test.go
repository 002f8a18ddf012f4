package route_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
)

func TestNoEarlierVersionIsServedWithoutALaterPolicy(t *testing.T) {
	t.Parallel()
	version := func(path string, policy *ir.RequestPolicy) route.Resolved {
		return route.Resolved{Kind: "HTTPRoute", Rules: []route.Rule{{Rule: ir.Rule{
			Name: "HTTPRoute/a/b/0/0", Match: ir.Match{Path: ir.StringMatch{Value: path}}, Policy: policy,
		}}}}
	}
	jwt := &ir.RequestPolicy{JWT: &ir.JWT{Policy: ir.Name{Namespace: "a", Name: "p"}}}
	filter := &ir.RequestPolicy{Auth: &ir.ExternalAuth{PathPrefix: "/x"}}
	policy := &ir.RequestPolicy{Auth: filter.Auth, Origins: []ir.Origin{{Setting: "extAuth"}}}
	condition := func(text string, expr byte) *ir.RequestPolicy {
		return &ir.RequestPolicy{Authorization: []ir.Authorization{{
			Rules: []ir.AuthorizationRule{{Name: "r", CEL: &ir.CEL{Text: text, Expr: []byte{expr}}}},
		}}}
	}
	for name, c := range map[string]struct {
		good, refused *ir.RequestPolicy
		want          bool
	}{
		"no policies":                  {nil, nil, true},
		"a policy that came later":     {nil, jwt, false},
		"the same policy":              {jwt, jwt, true},
		"a policy that is gone":        {jwt, nil, true},
		"another policy":               {jwt, &ir.RequestPolicy{BasicAuth: &ir.BasicAuth{}}, false},
		"a timeout that came later":    {nil, &ir.RequestPolicy{RequestTimeout: new(time.Second)}, true},
		"a filter of the route itself": {nil, filter, false},
		"the same filter":              {filter, filter, true},
		"the same of a policy":         {nil, policy, false},
		"a limit that came later":      {nil, &ir.RequestPolicy{RateLimit: &ir.LocalRateLimit{}}, false},
		"a condition, read otherwise":  {condition("true", 1), condition("true", 2), true},
		"another condition":            {condition("true", 1), condition("false", 1), false},
		"another password": {
			&ir.RequestPolicy{BasicAuth: &ir.BasicAuth{Users: "a"}}, &ir.RequestPolicy{BasicAuth: &ir.BasicAuth{Users: "b"}}, false,
		},
		"a policy that is broken": {jwt, &ir.RequestPolicy{FailClosed: true}, false},
	} {
		if got := version("/good", c.good).Replaces(version("/refused", c.refused)); got != c.want {
			t.Errorf("%s: the earlier version is served: %t", name, got)
		}
	}
}

// TestNoEarlierVersionIsServedWithoutAGuard compares versions rule by rule: `/a+` is a rule that guards, `/a-` one that answers an error because
// of a filter, `/a!` one without a backend, and `/a*` one with code of users.
func TestNoEarlierVersionIsServedWithoutAGuard(t *testing.T) {
	t.Parallel()
	version := func(text string) route.Resolved {
		r := route.Resolved{Kind: "HTTPRoute", Name: ir.Name{Namespace: "a", Name: "b"}}
		for i, field := range strings.Fields(text) {
			path := ir.StringMatch{Kind: ir.Prefix, Value: strings.TrimRight(field, "+-*!")}
			rule := ir.Rule{Name: fmt.Sprintf("HTTPRoute/a/b/%d/0", i), Match: ir.Match{Path: path}}
			switch field[len(field)-1] {
			case '+':
				rule.Policy = &ir.RequestPolicy{Auth: &ir.ExternalAuth{PathPrefix: "/x"}}
			case '-', '!':
				rule.Fail = &ir.Fail{StatusCode: 500}
			case '*':
				rule.Extensions = &ir.Extensions{List: []ir.Extension{{Lua: &ir.Lua{}}}}
			}
			r.Rules = append(r.Rules, route.Rule{Rule: rule, Unchecked: field[len(field)-1] == '-'})
		}
		return r
	}
	for _, c := range []struct{ name, good, refused, want string }{
		{"no guards", "/a /b", "/a /c", "/a /b"},
		{"a guard that came later", "/a", "/a+", "none"},
		{"a rule with a guard that came later", "/", "/ /admin+", "/admin- /"},
		{"a guard at another match", "/ /admin+", "/ /admins+", "/admins- / /admin+"},
		{"all guarded alike, at another match", "/admin+", "/admins+", "/admins- /admin+"},
		{"a rule without a guard that is no longer there", "/ /admin/free /admin+", "/ /admin+", "none"},
		{"another guard", "/admin*", "/admin+", "none"},
		{"a guard that is gone", "/admin+ /", "/admin /", "/admin+ /"},
		{"code of users that came later", "/a", "/a*", "none"},
		{"a rule that answers an error", "/a", "/a-", "none"},
		{"a rule without a backend", "/a", "/a!", "/a"},
		{"one that answered an error before", "/a-", "/a+", "/a-"},
		{"the order changed", "/a+ /b", "/b /a+ /c", "/a+ /b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			good, refused := version(c.good), version(c.refused)
			got := "none"
			if good.Replaces(refused) {
				var texts []string
				for _, rule := range good.InsteadOf(refused).Rules {
					mark := ""
					switch {
					case rule.Fail != nil:
						mark = "-"
					case rule.Guard() != nil:
						mark = "+"
					}
					texts = append(texts, rule.Match.Path.Value+mark)
				}
				got = strings.Join(texts, " ")
			}
			if got != c.want {
				t.Errorf("served is %s, want %s", got, c.want)
			}
		})
	}
}

// TestWidened: what is left of a match is a path that proxies do not reject.
func TestWidened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path ir.StringMatch
		want string
	}{
		{ir.StringMatch{Kind: ir.Exact, Value: "/a/b"}, "Exact /a/b"},
		{ir.StringMatch{Kind: ir.Prefix, Value: "/a"}, "Prefix /a"},
		{ir.StringMatch{Kind: ir.Prefix, Value: "/a b/c"}, "Prefix /"},
		{ir.StringMatch{Kind: ir.Exact, Value: "/a/b%zz"}, "Prefix /a"},
		{ir.StringMatch{Kind: ir.Regex, Value: "/a/b[0-9]+"}, "Prefix /a"},
		{ir.StringMatch{Kind: ir.Regex, Value: "^/a/(b|c)"}, "Prefix /a"},
		{ir.StringMatch{Kind: ir.Regex, Value: "/a/b[0-9]+|/a/c"}, "Prefix /a"},
		{ir.StringMatch{Kind: ir.Regex, Value: "/v.?[a-z]{500}"}, "Regex (?s)/v.*"},
		{ir.StringMatch{Kind: ir.Regex, Value: "/other[a-z]{500}|/other"}, "Regex (?s)/other.*"},
		{ir.StringMatch{Kind: ir.Regex, Value: "/a|b"}, "Prefix /"},
		{ir.StringMatch{Kind: ir.Regex, Value: "/[a-z]"}, "Prefix /"},
		{ir.StringMatch{Kind: ir.Regex, Value: ".*"}, "Prefix /"},
	} {
		rule := ir.Rule{Name: "HTTPRoute/a/b/0/0", Match: ir.Match{Path: c.path, Method: "GET", Headers: []ir.NamedMatch{{Name: "a"}}}}
		wide := route.Resolved{Kind: "HTTPRoute", Rules: []route.Rule{{Rule: rule}}}.Widened().Rules[0]
		got := fmt.Sprintf("%s %s", wide.Match.Path.Kind, wide.Match.Path.Value)
		if got != c.want || wide.Fail == nil || wide.Match.Method != "" || len(wide.Match.Headers) > 0 {
			t.Errorf("%s %s becomes %+v, want %s", c.path.Kind, c.path.Value, wide.Rule, c.want)
		}
	}
}
