//go:build translation

package translation

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/test/live"
)

// TestRandomPaths asks for thousands of paths that are made of what servers read in different ways. None that a server may take for /admin
// passes a rule that denies /admin, or a rule that allows /public only.
func TestRandomPaths(t *testing.T) {
	t.Parallel()
	parts := []string{
		"/", "/", "/", "admin", "admin", "public", "x", "..", ".", "%2e", "%2E", ";", ";a=b", "%3b", "%3B", "%2f", "%2F", `\`, "%5c", "%5C", "%20",
		"%3F", "%23", "%00", "%61", "%", "%25", "+", "%2", "~", "@", "%09", "%0a",
	}
	for begin, rule := range map[string]ir.AuthorizationRule{
		"/":        {Path: &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Prefix, Value: "/admin"}}},
		"/public/": {Path: &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Prefix, Value: "/public"}}, Allow: true},
	} {
		var passed atomic.Int32
		server := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed.Add(1)
			for _, served := range []string{live.ServedPath(r.RequestURI), live.ServedPathWithoutParameters(r.RequestURI)} {
				if served == "/admin" || strings.HasPrefix(served, "/admin/") {
					t.Errorf("%s reaches the server, with a rule that allows: %t", r.RequestURI, rule.Allow)
				}
			}
		})
		p := startProxy(t, guarded(&ir.RequestPolicy{Authorization: []ir.Authorization{
			{Policy: policyName, Allow: !rule.Allow, Rules: []ir.AuthorizationRule{rule}},
		}}), map[string]http.Handler{"echo": server})
		random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
		for range 3000 {
			path := begin
			for range 1 + random.IntN(9) {
				path += parts[random.IntN(len(parts))]
			}
			if _, err := p.send(t.Context(), asked{path: path}); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if passed.Load() < 1000 {
			t.Errorf("only %d paths pass, with a rule that allows: %t", passed.Load(), rule.Allow)
		}
	}
}

// TestPathsOfRules: rules of routes compare paths as they are written, but for what is normalized. What a server may make of a path beyond
// that is another path for them.
func TestPathsOfRules(t *testing.T) {
	t.Parallel()
	closed := func(kind ir.MatchKind, path string) ir.Rule {
		return ir.Rule{
			Name: "HTTPRoute/a/closed" + path + "/0/0", Match: ir.Match{Path: ir.StringMatch{Kind: kind, Value: path}},
			Fail: &ir.Fail{StatusCode: http.StatusInternalServerError},
		}
	}
	host := guarded(nil)
	host.Rules = append([]ir.Rule{closed(ir.Exact, "/exact"), closed(ir.Prefix, "/admin"), closed(ir.Regex, "/re/[a-z]+")}, host.Rules...)
	p := startProxy(t, host, nil)
	for want, paths := range map[int][]string{
		http.StatusInternalServerError: {"/exact", "/admin", "/admin/x", "/re/a", "/x/../admin", "/x/%2e%2e/admin", "/x/..;/admin", "/%61dmin"},
		// The case of letters; what is escaped twice; parameters, and dot segments with parameters of which a part is escaped.
		http.StatusOK: {
			"/EXACT", "/Admin", "/admiN/x", "/%41dmin", "/re/A", "/RE/a", "/%2561dmin", "/admin;a=b", "/;a/admin", "/x/%2e%2e;/admin",
			"/x/..%3b/admin",
		},
	} {
		for _, path := range paths {
			p.check(t, asked{name: path, path: path, want: want})
		}
	}
}

// TestLongestPaths: Envoy takes rules with the longest paths that the definition of policies does.
func TestLongestPaths(t *testing.T) {
	t.Parallel()
	var rules []ir.AuthorizationRule
	for _, path := range []string{strings.Repeat("/a", 512), "/" + strings.Repeat("=", 1023), "/" + strings.Repeat("\U0001f600", 1023)} {
		for _, kind := range []ir.MatchKind{ir.Exact, ir.Prefix} {
			match := ir.StringMatch{Kind: kind, Value: path}
			rules = append(rules, ir.AuthorizationRule{Path: &ir.PathRule{StringMatch: match}},
				ir.AuthorizationRule{Path: &ir.PathRule{StringMatch: match}, Allow: true})
		}
	}
	p := startProxy(t, guarded(&ir.RequestPolicy{Authorization: []ir.Authorization{{Policy: policyName, Allow: true, Rules: rules}}}), nil)
	p.check(t, asked{name: "a long path", path: strings.Repeat("/a", 512), want: 403})
	p.check(t, asked{name: "a long path that is escaped", path: "/" + strings.Repeat("%3d", 1023), want: 403})
	p.check(t, asked{name: "a path that is longer", path: "/" + strings.Repeat("=", 1024), want: 200})
}

// TestRegularExpressionsOfPaths: Envoy takes what is left of a regular expression without question marks.
func TestRegularExpressionsOfPaths(t *testing.T) {
	t.Parallel()
	var rules []ir.AuthorizationRule
	for _, regex := range []string{
		`/a[^\x00-\x1f]x`, `/b\?c`, `(?i)/k[^s]*`, `/\pL+`, `/\PL\PL`, `/c|\?`, `/[\x20-\x7e]?`, `/d[?]`, `/e.(?s:.)x`, `/[[:^alpha:]]{3}`,
	} {
		rules = append(rules, ir.AuthorizationRule{Path: &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Regex, Value: regex}}})
	}
	p := startProxy(t, guarded(&ir.RequestPolicy{Authorization: []ir.Authorization{{Policy: policyName, Allow: true, Rules: rules}}}), nil)
	for path, want := range map[string]int{
		"/a1x": 403, "/b?c": 403, "/b1?c": 200, "/K1": 403, "/-1": 403, "/1a": 200, "/e12x": 403, "/e1?x": 200, "/123?a": 403, "/12a": 200,
	} {
		p.check(t, asked{name: path, path: path, want: want})
	}
}
