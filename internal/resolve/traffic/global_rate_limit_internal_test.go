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

// TestLimitsThatCannotBeServedFailClosed: one rule that is none closes all, and so does no rule at all. A rule that never guards does not:
// a local limit without clientSelectors has no shadow mode.
func TestLimitsThatCannotBeServedFailClosed(t *testing.T) {
	t.Parallel()
	limit := v1alpha1.RateLimitValue{Requests: 1, Unit: "Hour"}
	good, none := v1alpha1.RateLimitRule{Limit: limit}, v1alpha1.RateLimitRule{}
	ofHeader := []v1alpha1.RateLimitSelector{{Headers: []v1alpha1.RateLimitMatch{{Name: "a", Value: new("b")}}}}
	shadow := v1alpha1.RateLimitRule{ShadowMode: new(true), ClientSelectors: ofHeader}
	shadowOfAll := v1alpha1.RateLimitRule{ShadowMode: new(true)}
	type result struct {
		guard    ir.Guard
		rules    int
		problems int
	}
	for name, c := range map[string]struct {
		rules         []v1alpha1.RateLimitRule
		local, global result
	}{
		"a limit":                            {[]v1alpha1.RateLimitRule{good}, result{rules: 1}, result{rules: 1}},
		"a limit, and one that is none":      {[]v1alpha1.RateLimitRule{good, none}, result{ir.Broken, 0, 2}, result{ir.Broken, 0, 2}},
		"no rule":                            {nil, result{ir.Broken, 0, 1}, result{ir.Broken, 0, 1}},
		"a limit, and a shadow that is none": {[]v1alpha1.RateLimitRule{good, shadow}, result{ir.Enforced, 1, 1}, result{ir.Enforced, 1, 1}},
		"a shadow that is none":              {[]v1alpha1.RateLimitRule{shadow}, result{ir.Off, 0, 1}, result{ir.Off, 0, 1}},
		"a shadow for all requests":          {[]v1alpha1.RateLimitRule{shadowOfAll}, result{ir.Broken, 0, 2}, result{ir.Off, 0, 1}},
		"a shadow and a limit that are none": {[]v1alpha1.RateLimitRule{shadow, none}, result{ir.Broken, 0, 3}, result{ir.Broken, 0, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			converter := newConverter(&store.Objects{})
			local := result{guard: ir.Off}
			if l := converter.rateLimit(&v1alpha1.LocalRateLimit{Rules: c.rules}); l != nil {
				local.guard, local.rules = l.Guard, len(l.Rules)
			}
			local.problems = len(converter.Problems)
			objects := store.NewObjects(store.New())
			objects.GlobalRateLimits = true
			l, problems := globalRateLimit(nil, objects, "a/p", &v1alpha1.GlobalRateLimit{Rules: c.rules})
			global := result{guard: ir.Off, problems: len(problems)}
			if l != nil {
				global.guard, global.rules = l.Guard, len(l.Rules)
			}
			if local != c.local || global != c.global {
				t.Errorf("local %+v %q, want %+v; global %+v %q, want %+v", local, converter.Problems, c.local, global, problems, c.global)
			}
		})
	}
}
