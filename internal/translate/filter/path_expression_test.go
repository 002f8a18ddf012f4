package filter

import (
	"regexp"
	"slices"
	"testing"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// whole compares all of a text, as Envoy does.
func whole(expression, text string) bool {
	return regexp.MustCompile(`\A(?:` + expression + `)\z`).MatchString(text)
}

// TestSpellingsOfADeniedPath: a rule that denies a path denies what servers may take for it, and nothing else.
func TestSpellingsOfADeniedPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		denied      []string
		passed      []string
	}{
		{
			"a prefix", "/admin",
			[]string{"/admin", "/admin/", "/admin/x", "/admin?x", "//admin", "/\\admin", "/%2fadmin", "/admin%2Fx", "/admin%5cx"},
			[]string{"/", "/administrator", "/admin.html", "/x/admin", "/x?/admin", "/admi", "/admin%2", "/admin-x", "/%2561dmin"},
		},
		{"letters in their case", "/admin", []string{"/admin"}, []string{"/Admin", "/ADMIN/x", "/%41dmin"}},
		{
			"a prefix with parameters", "/admin/users",
			[]string{
				"/admin;a=b/users", "/admin/users;a=b", "/admin;/users;/x", "/;a/admin/users", "/;a;b/;/admin/users", "/admin%3Ba/users%3b",
				"/admin;a%2fusers", "/admin/users;a=b?x", "//;a//admin/users",
			},
			[]string{"/admin;a=busers", "/admin;/users2", "/x;/admin/users", "/;admin/users", "/admin/x;/users", "/admin;a?/users"},
		},
		{
			"a prefix with dots before parameters", "/admin",
			[]string{"/q/.;/admin", "/q/..;/admin", "/q/..;a=b/admin", "/q/%2e%2e;/admin", "/q/..%3b/admin", "/q/..;", "/q/..%2fadmin"},
			[]string{"/q/...;/admin", "/q/a..;/admin", "/q?/..;/admin"},
		},
		{
			"a prefix behind which the path ends", "/admin",
			[]string{
				"/admin%20", "/admin%20%20;a/x", "/admin%3Fx", "/admin%3fx/y", "/admin%23x", "/admin%00", "/admin%00.html", "/%20/admin",
				"/q/..%20/admin",
			},
			[]string{"/admin%20panel", "/admin%21"},
		},
		{"an escaped character", "/@root", []string{"/@root", "/%40root", "/%40root;a/b"}, []string{"/root", "/%41root"}},
		{"an escaped colon", "/v1:admin", []string{"/v1:admin", "/v1%3Aadmin", "/v1%3aadmin"}, nil},
		{"brackets", "/(x)", []string{"/(x)", "/%28x%29", "/(x%29"}, []string{"/x"}},
		{"an escape in either case", "/caf%C3%A9", []string{"/caf%C3%A9", "/caf%c3%a9", "/caf%C3%a9/x"}, []string{"/caf"}},
		{"a character outside ASCII", "/café", []string{"/caf%C3%A9", "/caf%c3%a9"}, []string{"/caf%E9"}},
		{"a space", "/a b", []string{"/a%20b"}, []string{"/a", "/ab"}},
		{"an escaped letter", "/%61dmin", []string{"/admin"}, nil},
		{"dots", "/x/../admin", []string{"/admin", "/admin/x", "//admin"}, []string{"/x/admin", "/x", "/administrator"}},
		{"escaped dots", "/x/%2e%2E/admin/%2e", []string{"/admin", "/admin/x"}, []string{"/x/admin", "/x"}},
		{"dots beside an escaped slash", "/x%2f..%5Cadmin", []string{"/admin", "/admin/x"}, []string{"/x/admin", "/x"}},
		{"dots that are escaped twice", "/x/%252e%252e/admin", []string{"/x/%252e%252e/admin"}, []string{"/admin", "/x"}},
		{"dots in names", "/a.b/..c", []string{"/a.b/..c"}, []string{"/a.b", "/c"}},
		{"an escaped slash", "/a%2Fb", []string{"/a/b", "/a%2fb", "/a//b"}, []string{"/ab"}},
		{"a lone percent sign", "/100%", []string{"/100%", "/100%25"}, []string{"/100"}},
		{"a slash behind", "/admin//", []string{"/admin", "/admin/x"}, []string{"/administrator"}},
		{"everything", "/", []string{"/", "/x", "/x?y", "/;a"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rule := &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Prefix, Value: c.value}}
			for _, path := range c.denied {
				if !matchesPath(path, rule, false) {
					t.Errorf("a rule that denies %s does not match %s", c.value, path)
				}
			}
			for _, path := range c.passed {
				if matchesPath(path, rule, false) {
					t.Errorf("a rule that denies %s matches %s", c.value, path)
				}
			}
		})
	}
}

func TestExactAndRegularPaths(t *testing.T) {
	t.Parallel()
	exact, regex := ir.StringMatch{Value: "/admin"}, ir.StringMatch{Kind: ir.Regex, Value: "/admin/.*"}
	prefix, dots := ir.StringMatch{Kind: ir.Prefix, Value: "/public"}, ir.StringMatch{Value: "/x/%2e%2e/admin"}
	for _, c := range []struct {
		match           ir.StringMatch
		path            string
		denied, allowed bool
	}{
		{match: exact, path: "/admin", denied: true, allowed: true},
		{match: exact, path: "/admin?x", denied: true, allowed: true},
		{match: exact, path: "/admin;a=b", denied: true},
		{match: exact, path: "//admin", denied: true},
		{match: exact, path: "/x/..;/admin", denied: true},
		{match: exact, path: "/admin/"},
		{match: exact, path: "/admin/x"},
		{match: dots, path: "/admin", denied: true},
		{match: dots, path: "/x"},
		{match: regex, path: "/admin/x", denied: true, allowed: true},
		{match: regex, path: "/admin/..;/x", denied: true},
		{match: regex, path: "/x/..%2fadmin/x", denied: true},
		{match: regex, path: "/x"},
		{match: prefix, path: "/public/x;a=b", denied: true, allowed: true},
		{match: prefix, path: "/public/..;/admin", denied: true},
		{match: prefix, path: "/public/..%3b/admin", denied: true},
		{match: prefix, path: "/public/%2e%2e;a/admin", denied: true},
		{match: prefix, path: "/public/..%2fadmin", denied: true},
		{match: prefix, path: "/public;/admin", denied: true},
	} {
		if got := matchesPath(c.path, &ir.PathRule{StringMatch: c.match}, false); got != c.denied {
			t.Errorf("a rule that denies %v matches %s: %t", c.match, c.path, got)
		}
		if got := matchesPath(c.path, &ir.PathRule{StringMatch: c.match}, true); got != c.allowed {
			t.Errorf("a rule that allows %v matches %s: %t", c.match, c.path, got)
		}
		// What is inverted is the other way round.
		if got := matchesPath(c.path, &ir.PathRule{StringMatch: c.match, Invert: true}, true); got == c.denied {
			t.Errorf("a rule that allows all but %v matches %s: %t", c.match, c.path, got)
		}
		if got := matchesPath(c.path, &ir.PathRule{StringMatch: c.match, Invert: true}, false); got == c.allowed {
			t.Errorf("a rule that denies all but %v matches %s: %t", c.match, c.path, got)
		}
	}
}

// matchesPath evaluates the condition of a rule as Envoy does.
func matchesPath(text string, rule *ir.PathRule, allow bool) bool {
	return evaluate(path(rule, allow), text)
}

func evaluate(p *predicate, text string) bool {
	switch kind := p.GetMatchType().(type) {
	case *xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_:
		return whole(kind.SinglePredicate.GetValueMatch().GetSafeRegex().GetRegex(), text)
	case *xdsmatcherv3.Matcher_MatcherList_Predicate_NotMatcher:
		return !evaluate(kind.NotMatcher, text)
	case *xdsmatcherv3.Matcher_MatcherList_Predicate_OrMatcher:
		return slices.ContainsFunc(kind.OrMatcher.GetPredicate(), func(p *predicate) bool { return evaluate(p, text) })
	default:
		return !slices.ContainsFunc(p.GetAndMatcher().GetPredicate(), func(p *predicate) bool { return !evaluate(p, text) })
	}
}

// TestRegularExpressionsAreOfBytes: Envoy knows no characters beyond a byte in regular expressions of paths.
func TestRegularExpressionsAreOfBytes(t *testing.T) {
	t.Parallel()
	for regex, want := range map[string]string{
		`/a`:              `/a`,
		`/a\?b`:           `[^\x00-\xff]`,
		`(`:               `[^\x00-\xff]`,
		`/a|\?`:           `/a|[^\x00-\xff]`,
		`/a[^\x00-\x1f]x`: `/a[ ->@-\xff]x`,
		`/.`:              `/[\x00-\t\v->@-\xff]`,
		`/(?i)k[^a]`:      `/(?i:K)[\x00->@B-` + "`" + `b-\xff]`,
		`/[\pL]`:          `/[A-Za-z\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\xff]`,
		`(?i)/[k]`:        `/[Kk]`,
	} {
		if got := ir.WithoutQuery(regex); got != want {
			t.Errorf("%s becomes %s, want %s", regex, got, want)
		}
	}
}
