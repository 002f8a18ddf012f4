package route

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func pathMatch(kind ir.MatchKind, value string) ir.Match {
	return ir.Match{Path: ir.StringMatch{Kind: kind, Value: value}}
}

func TestShadows(t *testing.T) {
	t.Parallel()
	withMethod := func(m ir.Match, method string) ir.Match {
		m.Method = method
		return m
	}
	withHeaders := func(m ir.Match, names ...string) ir.Match {
		for _, name := range names {
			m.Headers = append(m.Headers, ir.NamedMatch{Name: name, StringMatch: ir.StringMatch{Value: "x"}})
		}
		return m
	}
	forGRPC := func(m ir.Match) ir.Match {
		m.GRPC = true
		return m
	}
	for _, c := range []struct {
		name          string
		first, second ir.Match
		shadowed      bool
	}{
		{"the same path", pathMatch(ir.Prefix, "/a"), pathMatch(ir.Prefix, "/a"), true},
		{"the same prefix with a slash at the end", pathMatch(ir.Prefix, "/a/"), pathMatch(ir.Prefix, "/a"), true},
		{"another path", pathMatch(ir.Prefix, "/a"), pathMatch(ir.Prefix, "/b"), false},
		{"an exact path under a prefix", pathMatch(ir.Prefix, "/a"), pathMatch(ir.Exact, "/a/b"), true},
		{"an exact path that a prefix is", pathMatch(ir.Prefix, "/a"), pathMatch(ir.Exact, "/a"), true},
		{"a path that only begins with the same letters", pathMatch(ir.Prefix, "/a"), pathMatch(ir.Exact, "/ab"), false},
		{"a prefix under a prefix", pathMatch(ir.Prefix, "/a"), pathMatch(ir.Prefix, "/a/b"), true},
		{"a prefix above a prefix", pathMatch(ir.Prefix, "/a/b"), pathMatch(ir.Prefix, "/a"), false},
		{"anything under the root", pathMatch(ir.Prefix, "/"), pathMatch(ir.Regex, "/.*"), true},
		{"an expression under a prefix", pathMatch(ir.Prefix, "/api"), pathMatch(ir.Regex, "/api/v[0-9]+/x"), true},
		{"an expression that may end in another segment", pathMatch(ir.Prefix, "/api"), pathMatch(ir.Regex, "/api.*"), false},
		{"an expression with a choice", pathMatch(ir.Prefix, "/api"), pathMatch(ir.Regex, "/api/a|/b"), false},
		{"an expression with a choice in a group", pathMatch(ir.Prefix, "/api"), pathMatch(ir.Regex, "/api/(a|b)"), true},
		{"an expression under an exact path", pathMatch(ir.Exact, "/api"), pathMatch(ir.Regex, "/api/.*"), false},
		{"the same expression", pathMatch(ir.Regex, "/a.*"), pathMatch(ir.Regex, "/a.*"), true},
		{
			"a method that the first asks for too", withMethod(pathMatch(ir.Prefix, "/a"), "GET"),
			withMethod(pathMatch(ir.Regex, "/a/.*"), "GET"), true,
		},
		{"a method that only the second asks for", pathMatch(ir.Prefix, "/a"), withMethod(pathMatch(ir.Regex, "/a/.*"), "GET"), true},
		{"a method that only the first asks for", withMethod(pathMatch(ir.Prefix, "/a"), "GET"), pathMatch(ir.Regex, "/a/.*"), false},
		{
			"the same headers in another order", withHeaders(pathMatch(ir.Prefix, "/a"), "x", "y"),
			withHeaders(pathMatch(ir.Prefix, "/a"), "y", "x"), true,
		},
		{"other headers", withHeaders(pathMatch(ir.Prefix, "/a"), "x"), withHeaders(pathMatch(ir.Prefix, "/a"), "y"), false},
		{"a rule for gRPC, which takes other requests too", forGRPC(pathMatch(ir.Prefix, "/a")), pathMatch(ir.Prefix, "/a"), true},
		{"a rule for gRPC under a prefix", pathMatch(ir.Prefix, "/a"), forGRPC(pathMatch(ir.Exact, "/a/B")), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := shadows([]ir.Rule{{Name: "first", Match: c.first}, {Name: "second", Match: c.second}})
			if got := len(found) == 1 && found[0].Rule == "second" && found[0].By == "first"; got != c.shadowed {
				t.Errorf("got %v, want it shadowed: %t", found, c.shadowed)
			}
		})
	}
}

func TestShadowsAreBounded(t *testing.T) {
	t.Parallel()
	rules := make([]ir.Rule, 1000)
	for i := range rules {
		rules[i].Match = pathMatch(ir.Prefix, "/")
	}
	if n := len(shadows(rules)); n != maxShadows {
		t.Errorf("got %d, want %d", n, maxShadows)
	}
}

func TestLiteralIsWhatEveryMatchBeginsWith(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"/api", "/api/.*", "/api/v[0-9]+", "/a|/b", "/(a|b)/c", "(?i)/api", "/api?", "/api*", "/ab{0,2}", "/a+", `/a\.b`, `/[|(]/x|/y`, "^/a", "", ".*", "a$", `\/x|y`,
	} {
		want, _ := regexp.MustCompile(strings.TrimPrefix(expression, "^")).LiteralPrefix()
		if got := literal(expression); !strings.HasPrefix(want, got) {
			t.Errorf("%s: got %q, but matches begin with %q", expression, got, want)
		}
	}
}
