package traffic

import (
	"regexp"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// TestRulesAreNamedByWhatTheyCount: a rule keeps its name, and so its count, when another one comes before it or its limit changes.
func TestRulesAreNamedByWhatTheyCount(t *testing.T) {
	t.Parallel()
	rule := func(requests uint32, unit time.Duration, headers ...string) ir.GlobalRateRule {
		r := ir.GlobalRateRule{RateRule: ir.RateRule{Requests: requests, Unit: unit}}
		for _, h := range headers {
			r.Matches = append(r.Matches, ir.RateMatch{Header: h, Distinct: true})
		}
		return r
	}
	before := []ir.GlobalRateRule{rule(1000, time.Hour), rule(5, time.Hour, "x-user")}
	after := []ir.GlobalRateRule{rule(5, time.Minute), rule(2000, time.Hour), rule(7, time.Hour, "x-user"), rule(9, time.Hour, "x-user")}
	identify(before)
	identify(after)
	if before[0].ID != after[1].ID || before[1].ID != after[2].ID {
		t.Errorf("rules changed their names: %+v and %+v", before, after)
	}
	names := map[string]bool{}
	for _, r := range after {
		names[r.ID] = true
	}
	if len(names) != len(after) {
		t.Errorf("rules share a name: %+v", after)
	}
}

func TestASelectorOfNothingIsAProblem(t *testing.T) {
	t.Parallel()
	c := newConverter(&store.Objects{})
	rule := &v1alpha1.RateLimitRule{
		Limit: v1alpha1.RateLimitValue{Requests: 1, Unit: "Hour"}, ClientSelectors: []v1alpha1.RateLimitSelector{{}},
	}
	if _, ok := c.rateRule("rules[0].", rule); ok || len(c.Problems) != 1 {
		t.Errorf("the rule is served: %t, problems %q", ok, c.Problems)
	}
}

func TestATypeThatIsNotKnownIsAProblem(t *testing.T) {
	t.Parallel()
	for _, selector := range []v1alpha1.RateLimitSelector{
		{Headers: []v1alpha1.RateLimitMatch{{Name: "a", Type: new("Glob"), Value: new("a*")}}},
		{Path: &v1alpha1.RateLimitPath{Type: new(gwv1.PathMatchType("Glob")), Value: "/a*"}},
	} {
		c := newConverter(&store.Objects{})
		if _, ok := c.selector("field.", selector); ok || len(c.Problems) != 1 {
			t.Errorf("%+v is served: %t, problems %q", selector, ok, c.Problems)
		}
	}
}

func TestAPathThatIsCountedHasTheSpellingOfRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, path, request string
		counted, inverted   bool
	}{
		{kind: "PathPrefix", path: "/%61dmin", request: "/admin/x?a=b", counted: true},
		{kind: "PathPrefix", path: "/%61dmin", request: "/adminx", inverted: true},
		{kind: "Exact", path: "/a%2Db", request: "/a-b", counted: true},
		{kind: "Exact", path: "/a%2Fb", request: "/a/b?x", counted: true, inverted: true},
		{kind: "Exact", path: "/a%2Fb", request: "/a%2Fb", counted: true},
		{kind: "Exact", path: "/a%2Fb", request: "/a%2fb", counted: true, inverted: true},
		{kind: "PathPrefix", path: "/a//b", request: "/a/b", counted: true, inverted: true},
		{kind: "PathPrefix", path: "/a//b", request: "/a//b/c", counted: true},
		{kind: "PathPrefix", path: "/", request: "/a", counted: true},
		{kind: "PathPrefix", path: "/a/", request: "/a", counted: true},
	} {
		kind := gwv1.PathMatchType(c.kind)
		for invert, want := range map[bool]bool{false: c.counted, true: c.inverted} {
			text, ok := pathExpression(&v1alpha1.RateLimitPath{Type: &kind, Value: c.path, Invert: &invert})
			if !ok || (regexp.MustCompile("^(?:"+text+")$").MatchString(c.request) != invert) != want {
				t.Errorf("%s %s, inverted %t: %s is compared with %q, want %t", c.kind, c.path, invert, c.request, text, want)
			}
		}
	}
}

func TestAPathWithAQueryIsAProblem(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"/a?b": 1, "/a#b": 1, "/a%3Fb": 0} {
		for _, kind := range []gwv1.PathMatchType{gwv1.PathMatchExact, gwv1.PathMatchPathPrefix} {
			c := newConverter(&store.Objects{})
			matches := c.path("path", &v1alpha1.RateLimitPath{Type: &kind, Value: path})
			if len(c.Problems) != want || len(matches) != 1-want {
				t.Errorf("%s %s: %d matches, problems %q", kind, path, len(matches), c.Problems)
			}
		}
	}
}

// TestALocalLimitThatCannotBeServedFailsClosed: one rule that is none closes all, and no rule at all does so too.
func TestALocalLimitThatCannotBeServedFailsClosed(t *testing.T) {
	t.Parallel()
	good := v1alpha1.RateLimitRule{Limit: v1alpha1.RateLimitValue{Requests: 1, Unit: "Hour"}}
	for _, l := range []struct {
		rules    []v1alpha1.RateLimitRule
		guard    ir.Guard
		problems int
	}{
		{rules: []v1alpha1.RateLimitRule{good}, guard: ir.Enforced},
		{rules: []v1alpha1.RateLimitRule{good, {}}, guard: ir.Broken, problems: 2},
		{guard: ir.Broken},
	} {
		c := newConverter(&store.Objects{})
		p := c.rateLimit(&v1alpha1.LocalRateLimit{Rules: l.rules})
		if p == nil || p.Guard != l.guard || len(c.Problems) != l.problems {
			t.Errorf("of %d rules, limits are %+v, problems %q", len(l.rules), p, c.Problems)
		}
	}
}
