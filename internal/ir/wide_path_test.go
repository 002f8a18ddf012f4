package ir_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestLiteralBeginning: what is not plain to see is left out.
func TestLiteralBeginning(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"/a":                           "/a",
		"^/a$":                         "/a",
		"/ab?c":                        "/a",
		"/a.b":                         "/a",
		"(?s)/a.*":                     "/a",
		"/other[a-z]{5}|/other":        "/other",
		"^/abc|^/abd":                  "/ab",
		"/abc|/ab?":                    "/a",
		"/a(b|c)d":                     "/a",
		"/a(b|(c|d)e)|/a/b":            "/a",
		"/a[|]b|/a(":                   "",
		`/a\|b`:                        "/a",
		`/a[\]|]|/a`:                   "/a",
		"/a[]|]|/a":                    "/a",
		"/a[^]|]|/a":                   "/a",
		"/a|":                          "",
		"|/a":                          "",
		"/a|b":                         "",
		"a|b":                          "",
		"/a(|b":                        "",
		"/a[|/a":                       "",
		"/a[[:alpha:](]|b[[:alpha:])]": "",
		"/a)|b":                        "",
		`/a\(|b`:                       "",
		`/a\Q(\E|b`:                    "",
		"/a[(]|b":                      "",
		"/ab(?i)x|/ab":                 "",
		"/ab(?i:x)|/ab":                "",
		"/ab(?:x)|/ab":                 "/ab",
		strings.Repeat("/a|", 3):       "",
		"/a/b|/a/c|/a/d[0-9]{3}(|)":    "/a/",
	} {
		if got := ir.LiteralBeginning(expression); got != want {
			t.Errorf("%s begins with %q, want %q", expression, got, want)
		}
	}
}

// FuzzLiteralBeginning: whatever an expression matches begins so.
func FuzzLiteralBeginning(f *testing.F) {
	for _, seed := range []struct{ expression, text string }{
		{"/a|/b", "/b"},
		{"/a(b|c)", "/ab"},
		{`\Q(\E|b`, "("},
		{"[[:alpha:]|]a", "|a"},
		{"(?i)a|b", "A"},
		{"a{0}b|c", "b"},
		{"(?:a|b)|", ""},
		{"[]]|a", "]"},
		{`\x{61}|b`, "a"},
	} {
		f.Add(seed.expression, seed.text)
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		if len(expression) > 100 || len(text) > 100 {
			t.Skip()
		}
		compiled, err := regexp.Compile("^(?:" + expression + ")$")
		if err != nil || !compiled.MatchString(text) {
			t.Skip()
		}
		if beginning := ir.LiteralBeginning(expression); !strings.HasPrefix(text, beginning) {
			t.Errorf("%q matches %q, which does not begin with %q", expression, text, beginning)
		}
	})
}
