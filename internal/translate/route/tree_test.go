package route_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

// enough is more rules than a list may have.
const enough = 100

func many(rule func(i int) ir.Rule) []ir.Rule {
	var rules []ir.Rule
	for i := range enough {
		rules = append(rules, rule(i))
	}
	return rules
}

func numbered(i int) ir.Rule {
	return to(fmt.Sprint(i), path(ir.Prefix, fmt.Sprintf("/service/%d", i)))
}

func hostOf(t *testing.T, rules []ir.Rule) *routev3.VirtualHost {
	t.Helper()
	host, invalid := route.VirtualHost(ir.VirtualHost{Domain: "a.example", Rules: rules})
	if len(invalid) > 0 {
		t.Fatal(invalid)
	}
	prototest.Valid(t, host)
	return host
}

func TestHostsBecomeTreesWhereThatHelps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rules []ir.Rule
		tree  bool
	}{
		{"a host with few rules is a list", many(numbered)[:10], false},
		{"a host with many is a tree", many(numbered), true},
		{"a host with few rules that become many routes is a tree", many(func(i int) ir.Rule {
			rule := numbered(i)
			// Each backend has a route of its own.
			rule.Forward.Backends = []ir.WeightedBackend{
				{Backend: svc("a"), Weight: 1, Rewrite: &ir.Rewrite{Path: &ir.PathEdit{Full: new("/a")}}},
				{Backend: svc("b"), Weight: 1, Rewrite: &ir.Rewrite{Path: &ir.PathEdit{Full: new("/b")}}},
			}
			return rule
		})[:40], true},
		{"one with a rule for everything too", append(many(numbered), to("all", path(ir.Prefix, "/"))), true},
		{"rules for one path are a list", many(func(i int) ir.Rule {
			m := path(ir.Prefix, "/")
			m.Headers = []ir.NamedMatch{{Name: "x", StringMatch: ir.StringMatch{Value: fmt.Sprint(i)}}}
			return to(fmt.Sprint(i), m)
		}), false},
		{"expressions are a list", many(func(i int) ir.Rule { return to(fmt.Sprint(i), path(ir.Regex, fmt.Sprintf("/%d.*", i))) }), false},
		{"expressions after rules that leave nothing to them do no harm", append(many(numbered), many(func(i int) ir.Rule {
			return to(fmt.Sprint(i), path(ir.Regex, fmt.Sprintf("/%d.*", i)))
		})[:40]...), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			host := hostOf(t, c.rules)
			if got := host.GetMatcher() != nil; got != c.tree || got == (len(host.GetRoutes()) > 0) {
				t.Errorf("a tree: %v, %d routes in a list", got, len(host.GetRoutes()))
			}
			if said := route.HasTree(ir.VirtualHost{Domain: "a.example", Rules: c.rules}); said != c.tree {
				t.Errorf("HasTree says %t", said)
			}
		})
	}
}

func TestATreeHasEachRouteFewTimes(t *testing.T) {
	t.Parallel()
	expressions := many(func(i int) ir.Rule { return to(fmt.Sprint(i), path(ir.Regex, fmt.Sprintf("/%d.*", i))) })[:40]
	host := hostOf(t, append(many(numbered), expressions...))
	copies := map[string]int{}
	each(t, host.GetMatcher(), func(list *routev3.RouteList) {
		for _, r := range list.GetRoutes() {
			copies[r.GetMatch().String()]++
		}
	})
	for match, n := range copies {
		if n > 3 {
			t.Errorf("%s is there %d times", match, n)
		}
	}
}

// TestATreeIsNotManyTimesAsLargeAsItsRoutes has one large route among many small ones: under each key of a tree is every route that may
// match there.
func TestATreeIsNotManyTimesAsLargeAsItsRoutes(t *testing.T) {
	t.Parallel()
	large := func(m ir.Match) ir.Rule {
		rule := to("large", m)
		rule.RequestHeaders = &ir.HeaderEdit{}
		for i := range 10 {
			rule.RequestHeaders.Set = append(rule.RequestHeaders.Set, ir.Header{Name: fmt.Sprint("x-", i), Value: strings.Repeat("v", 10_000)})
		}
		return rule
	}
	withMethod := func(i int) ir.Rule {
		rule := numbered(i)
		rule.Match.Method = "GET"
		return rule
	}
	for _, c := range []struct {
		name  string
		rules []ir.Rule
		tree  bool
	}{
		{"an expression that may match every path", append(many(numbered), large(path(ir.Regex, ".*x"))), true},
		{"an expression before all others", append([]ir.Rule{large(path(ir.Regex, "/service/.*x"))}, many(numbered)...), false},
		{"a route for all the rest", append(many(numbered), large(path(ir.Prefix, "/"))), true},
		{"a route for all the rest, which every path needs", append(many(withMethod), large(path(ir.Prefix, "/"))), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			host := hostOf(t, c.rules)
			if got := host.GetMatcher() != nil; got != c.tree {
				t.Errorf("a tree: %v", got)
			}
			if size := proto.Size(host); size > 2*100_000+len(c.rules)*3<<10 {
				t.Errorf("it takes %d bytes", size)
			}
		})
	}
}

func TestATreeGuardedByItsChain(t *testing.T) {
	t.Parallel()
	host, _ := route.VirtualHost(ir.VirtualHost{Domain: "a.example", Chain: "https", Rules: many(numbered)})
	prototest.Valid(t, host)
	inner := host.GetMatcher().GetMatcherTree().GetExactMatchMap().GetMap()["https"].GetMatcher()
	if got := find(t, inner, request{target: "/service/7/x"}); got.GetName() != "7" {
		t.Errorf("got %v", got)
	}
	if inner.GetOnNoMatch() == nil {
		t.Error("what the tree does not match would be answered as if it had come by another chain")
	}
}

// TestATreeFindsWhatTheListFinds is the short form of the comparison on a live Envoy, in test/fuzz.
func TestATreeFindsWhatTheListFinds(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same every time
	choose := func(of ...string) string { return of[dice.IntN(len(of))] }
	randomPath := func() string {
		var b strings.Builder
		for range 1 + dice.IntN(4) {
			b.WriteString("/" + choose("a", "b", "ab", "abc", "x"))
		}
		return b.String()
	}
	trees := 0
	for n := range 42 {
		var rules []ir.Rule
		for i := range enough {
			m := path(ir.MatchKind(dice.IntN(2)), choose(randomPath(), randomPath(), randomPath(), "/")) //nolint:gosec // 0 or 1
			if dice.IntN(20) < n%3 {
				m = path(ir.Regex, randomPath()+choose(".*", "/.*", "x?"))
			}
			if dice.IntN(10) < n%7 {
				m.Method = choose("GET", "POST")
			}
			rules = append(rules, to(fmt.Sprint(i), m))
		}
		host, list := hostOf(t, rules), &routev3.VirtualHost{}
		for i := range rules {
			list.Routes = append(list.Routes, hostOf(t, rules[i:i+1]).GetRoutes()...)
		}
		if host.GetMatcher() == nil {
			continue
		}
		trees++
		for range 100 {
			r := request{method: choose("GET", "POST"), target: randomPath() + choose("", "", "/", "x", "/x") + choose("", "?", "?q=/a", "?a")}
			if want, got := pick(list, r), find(t, host.GetMatcher(), r); want.GetName() != got.GetName() {
				t.Fatalf("set %d, %s %s: the list finds %v, the tree %v", n, r.method, r.target, want.GetMatch(), got.GetMatch())
			}
		}
	}
	if trees < 20 {
		t.Errorf("only %d trees", trees)
	}
}

// find finds the route for a request as Envoy does: by the whole path or the longest of the keys that it begins with, and then the first
// of the routes there that matches.
func find(t *testing.T, m *xdsmatcherv3.Matcher, r request) *routev3.Route {
	t.Helper()
	on := m.GetOnNoMatch()
	if exact, ok := m.GetMatcherTree().GetExactMatchMap().GetMap()[r.target]; ok {
		on = exact
	}
	longest := ""
	for key, leaf := range m.GetMatcherTree().GetPrefixMatchMap().GetMap() {
		if strings.HasPrefix(r.target, key) && len(key) > len(longest) {
			longest, on = key, leaf
		}
	}
	if on.GetMatcher() != nil {
		return find(t, on.GetMatcher(), r)
	}
	return pick(&routev3.VirtualHost{Routes: listOf(t, on).GetRoutes()}, r)
}

func listOf(t *testing.T, on *xdsmatcherv3.Matcher_OnMatch) *routev3.RouteList {
	t.Helper()
	list := &routev3.RouteList{}
	if err := on.GetAction().GetTypedConfig().UnmarshalTo(list); err != nil {
		t.Fatal(err)
	}
	return list
}

// each calls fn with every list of routes in a tree.
func each(t *testing.T, m *xdsmatcherv3.Matcher, fn func(*routev3.RouteList)) {
	t.Helper()
	visit := func(on *xdsmatcherv3.Matcher_OnMatch) {
		if on.GetMatcher() != nil {
			each(t, on.GetMatcher(), fn)
			return
		}
		fn(listOf(t, on))
	}
	for _, on := range m.GetMatcherTree().GetExactMatchMap().GetMap() {
		visit(on)
	}
	for _, on := range m.GetMatcherTree().GetPrefixMatchMap().GetMap() {
		visit(on)
	}
	visit(m.GetOnNoMatch())
}
