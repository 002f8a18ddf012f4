package attach_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/resolve/attach"
)

// spec stands for the spec of a policy: request settings, one of them nested, a destination setting, and one that is additive.
type spec struct {
	Retry     *string
	RateLimit *rateLimit
	Balance   []string
	Allow     []string
}

type (
	policy   = attach.Policy[spec]
	policies = []*policy
)

type rateLimit struct{ Local, Global string }

const kindName = "TestPolicy"

var kind = attach.Kind[spec]{
	Name: kindName,
	Targets: []attach.TargetKind{
		attach.GatewayClasses, attach.Gateways, attach.ListenerSets, attach.HTTPRoutes, attach.GRPCRoutes, attach.Services, attach.XBackends,
	},
	Settings: []attach.Setting[spec]{
		attach.Pointer("retry", func(s *spec) **string { return &s.Retry }).At(attach.RequestLevels...),
		attach.Value("rateLimit.local",
			func(s *spec) (string, bool) {
				if s.RateLimit == nil {
					return "", false
				}
				return s.RateLimit.Local, s.RateLimit.Local != ""
			},
			func(s *spec, value string) {
				if s.RateLimit == nil {
					s.RateLimit = &rateLimit{}
				}
				s.RateLimit.Local = value
			}),
		attach.List("balance", func(s *spec) *[]string { return &s.Balance }).At(attach.DestinationLevels...),
		attach.Additive("allow", func(s *spec) *[]string { return &s.Allow }),
	},
	ResolvedRefs: true,
	Inherited:    true,
}

// chain has one target for each level, in order.
var chain = []attach.Target{
	attach.GatewayClasses.Target("", "c", ""),
	attach.Gateways.Target("infra", "a", ""),
	attach.ListenerSets.Target("app", "s", ""),
	attach.ListenerSets.Target("app", "s", "https"),
	attach.Services.Target("app", "one", ""),
	attach.Services.Target("app", "one", "web"),
	attach.HTTPRoutes.Target("app", "r", ""),
	attach.HTTPRoutes.Target("app", "r", "list"),
}

func named(name string, created int64, strategy attach.Strategy, targets ...attach.Target) *policy {
	return &policy{
		Ref: attach.Ref{Kind: kindName, Namespace: "app", Name: name}, Created: created, Strategy: strategy, Targets: targets,
		// Each has the settings that are allowed at every level.
		Spec: spec{Balance: []string{name}, RateLimit: &rateLimit{Local: name}, Allow: []string{name}},
	}
}

// sides are the causes of the losses of a setting, by policy.
func sides(e attach.Effective[spec], setting string) map[string]attach.Cause {
	causes := map[string]attach.Cause{}
	for _, l := range e.Losses {
		if l.Setting == setting {
			causes[l.Policy.Name] = l.Cause
		}
	}
	return causes
}

// TestMergeEveryPairOfLevels weighs each pair of levels, with each pair of strategies and whichever of the two is older.
func TestMergeEveryPairOfLevels(t *testing.T) {
	t.Parallel()
	strategies := []attach.Strategy{attach.Defaults, attach.Overrides}
	for i, upper := range chain {
		for _, lower := range chain[i+1:] {
			for _, above := range strategies {
				for _, below := range strategies {
					t.Run(fmt.Sprintf("%s with %s above %s with %s", upper.Level(), above, lower.Level(), below), func(t *testing.T) {
						t.Parallel()
						for _, created := range []int64{1, 3} {
							e := kind.Merge(attach.Subject{Chain: chain}, policies{
								named("lower", 2, below, lower), named("upper", created, above, upper),
							})
							winner, target, loser, cause := "lower", lower, "upper", attach.Replaced
							if above == attach.Overrides {
								winner, target, loser, cause = "upper", upper, "lower", attach.Overridden
							}
							expectWinner(t, e, winner, target, map[string]attach.Cause{loser: cause})
							if want := []string{"upper", "lower"}; !slices.Equal(e.Spec.Allow, want) {
								t.Errorf("the additive setting is %v, want %v", e.Spec.Allow, want)
							}
						}
					})
				}
			}
		}
	}
}

// TestMergeEveryLevelTwice weighs two policies at the same level: age decides, then the name, whatever the strategies.
func TestMergeEveryLevelTwice(t *testing.T) {
	t.Parallel()
	strategies := []attach.Strategy{attach.Defaults, attach.Overrides}
	for _, target := range chain {
		for _, strategy := range strategies {
			for _, other := range strategies {
				t.Run(fmt.Sprintf("%s with %s and %s", target.Level(), strategy, other), func(t *testing.T) {
					t.Parallel()
					older := kind.Merge(attach.Subject{Chain: chain}, policies{
						named("a", 2, strategy, target), named("b", 1, other, target),
					})
					expectWinner(t, older, "b", target, map[string]attach.Cause{"a": attach.Conflicted})
					first := kind.Merge(attach.Subject{Chain: chain}, policies{
						named("b", 1, other, target), named("a", 1, strategy, target),
					})
					expectWinner(t, first, "a", target, map[string]attach.Cause{"b": attach.Conflicted})
				})
			}
		}
	}
}

// TestMergeEveryLevelWithInline weighs a policy at each level against a field of the standard.
func TestMergeEveryLevelWithInline(t *testing.T) {
	t.Parallel()
	rule := chain[len(chain)-1]
	for _, target := range chain {
		for _, strategy := range []attach.Strategy{attach.Defaults, attach.Overrides} {
			t.Run(fmt.Sprintf("%s with %s", target.Level(), strategy), func(t *testing.T) {
				t.Parallel()
				inline := attach.Inline{Setting: "balance", Object: rule, Path: "spec.rules[0].balance"}
				e := kind.Merge(attach.Subject{Chain: chain, Inline: []attach.Inline{inline}}, policies{named("p", 1, strategy, target)})
				if origin, _ := e.Origin("balance"); len(e.Spec.Balance) != 0 || origin.Path != inline.Path || origin.Object.Kind != "HTTPRoute" {
					t.Errorf("the setting is %v from %v, want the inline field", e.Spec.Balance, origin)
				}
				if origin, _ := e.Origin("rateLimit.local"); origin.Object.Name != "p" {
					t.Errorf("a setting without an inline field is from %v", origin)
				}
				want := map[string]attach.Cause{"p": attach.Replaced}
				if strategy == attach.Overrides {
					want["p"] = attach.RejectsInline
				}
				if diff := cmp.Diff(want, sides(e, "balance")); diff != "" {
					t.Error(diff)
				}
				if rejected := len(e.Rejections) == 1; rejected != (strategy == attach.Overrides) {
					t.Errorf("rejections are %v", e.Rejections)
				}
				for _, r := range e.Rejections {
					want := "spec.rules[0].balance of rule list of HTTPRoute app/r is overridden by spec.balance of TestPolicy app/p, which targets " +
						target.String() + "; remove the field, or change the policy"
					if problem := r.Problem("UnsupportedValue"); problem.Message != want || problem.Reason != "UnsupportedValue" {
						t.Errorf("got %+v, want %s", problem, want)
					}
				}
			})
		}
	}
}

func expectWinner(t *testing.T, e attach.Effective[spec], winner string, target attach.Target, losses map[string]attach.Cause) {
	t.Helper()
	for _, setting := range []string{"balance", "rateLimit.local"} {
		want := attach.Origin{
			Setting: setting, Object: attach.Ref{Kind: kindName, Namespace: "app", Name: winner}, Target: target, Path: "spec." + setting,
		}
		got, _ := e.Origin(setting)
		got.Overrides = false
		if got != want {
			t.Errorf("%s is from %+v, want %+v", setting, got, want)
		}
		if diff := cmp.Diff(losses, sides(e, setting)); diff != "" {
			t.Errorf("losses of %s: %s", setting, diff)
		}
	}
	if !slices.Equal(e.Spec.Balance, []string{winner}) || e.Spec.RateLimit == nil || e.Spec.RateLimit.Local != winner {
		t.Errorf("the settings are %v and %v, want those of %s", e.Spec.Balance, e.Spec.RateLimit, winner)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	class, gateway, listener, route, rule := chain[0], chain[1], chain[3], chain[6], chain[7]
	// only is a policy with one of the settings.
	only := func(p *policy, s spec) *policy {
		p.Spec = s
		return p
	}
	balance := func(name string, created int64, strategy attach.Strategy, targets ...attach.Target) *policy {
		return only(named(name, created, strategy, targets...), spec{Balance: []string{name}})
	}
	for _, c := range []struct {
		name     string
		policies policies
		want     string
		losses   map[string]attach.Cause
	}{
		{"no policy, no setting", nil, "", nil},
		{"a policy elsewhere has no say", policies{balance("p", 1, attach.Overrides, attach.Gateways.Target("infra", "b", ""))}, "", nil},
		{"a listener of the same name of another object is another", policies{
			balance("p", 1, attach.Defaults, attach.Gateways.Target("app", "s", "https")),
		}, "", nil},
		{"the uppermost override wins over one below", policies{
			balance("rule", 1, attach.Overrides, rule), balance("gateway", 2, attach.Overrides, gateway),
			balance("class", 3, attach.Defaults, class),
		}, "gateway", map[string]attach.Cause{"rule": attach.Overridden, "class": attach.Replaced}},
		{"an override below a default wins over what is below it", policies{
			balance("class", 1, attach.Defaults, class), balance("route", 2, attach.Overrides, route), balance("rule", 3, attach.Defaults, rule),
		}, "route", map[string]attach.Cause{"class": attach.Replaced, "rule": attach.Overridden}},
		{"both policies of an overridden level name the override", policies{
			balance("class", 1, attach.Overrides, class), balance("b", 2, attach.Defaults, route), balance("a", 3, attach.Defaults, route),
		}, "class", map[string]attach.Cause{"a": attach.Overridden, "b": attach.Overridden}},
		{"an override that loses at its level overrides nothing", policies{
			balance("older", 1, attach.Defaults, gateway), balance("younger", 2, attach.Overrides, gateway),
			balance("rule", 3, attach.Defaults, rule),
		}, "rule", map[string]attach.Cause{"older": attach.Replaced, "younger": attach.Conflicted}},
		{"a policy with two targets does not lose to itself", policies{balance("p", 1, attach.Overrides, gateway, listener, gateway)}, "p", nil},
		{"a policy that wins at one target does not lose at another", policies{
			balance("p", 2, attach.Overrides, gateway, listener), balance("older", 1, attach.Defaults, listener),
		}, "p", map[string]attach.Cause{"older": attach.Overridden}},
		{"a policy that cannot be served keeps its place", policies{
			broken(balance("older", 1, attach.Defaults, route)), balance("younger", 2, attach.Defaults, route),
		}, "older", map[string]attach.Cause{"younger": attach.Conflicted}},
		{"a policy without the setting has no say in it", policies{
			only(named("empty", 1, attach.Overrides, rule), spec{}), balance("p", 2, attach.Defaults, gateway),
		}, "p", nil},
		{"names are compared with their namespaces", policies{
			in("b", balance("p", 1, attach.Defaults, route)), in("a", balance("q", 1, attach.Defaults, route)),
		}, "q", map[string]attach.Cause{"p": attach.Conflicted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := kind.Merge(attach.Subject{Chain: chain}, c.policies)
			got := ""
			if len(e.Spec.Balance) > 0 {
				got = e.Spec.Balance[0]
			}
			if origin, _ := e.Origin("balance"); got != c.want || origin.Object.Name != c.want {
				t.Errorf("got %q from %+v, want %q", got, origin, c.want)
			}
			losses := sides(e, "balance")
			if len(losses) == 0 {
				losses = nil
			}
			if diff := cmp.Diff(c.losses, losses); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMergeSettingsAreIndependent(t *testing.T) {
	t.Parallel()
	gateway, route := chain[1], chain[6]
	retry := "three times"
	upper, lower := named("upper", 1, attach.Defaults, gateway), named("lower", 2, attach.Defaults, route)
	upper.Spec, lower.Spec = spec{Retry: &retry, Balance: []string{"upper"}}, spec{Balance: []string{"lower"}}
	e := kind.Merge(attach.Subject{Chain: chain}, policies{lower, upper})
	if e.Spec.Retry != &retry || e.Spec.Balance[0] != "lower" {
		t.Errorf("got %+v, want retry of the upper policy and balance of the lower one", e.Spec)
	}
}

func TestMergeSettingWithoutMeaning(t *testing.T) {
	t.Parallel()
	retry := "three times"
	p := named("p", 1, attach.Overrides, chain[4])
	p.Spec = spec{Retry: &retry}
	e := kind.Merge(attach.Subject{Chain: chain}, policies{p})
	if diff := cmp.Diff(map[string]attach.Cause{"p": attach.NotApplicable}, sides(e, "retry")); diff != "" || e.Spec.Retry != nil {
		t.Errorf("a request setting on a Service takes effect: %+v\n%s", e.Spec, diff)
	}
}

// TestMergeDoesNotShare proves that what is added to an effective policy is not added to the policies it is made of.
func TestMergeDoesNotShare(t *testing.T) {
	t.Parallel()
	upper, lower := named("upper", 1, attach.Defaults, chain[1]), named("lower", 2, attach.Defaults, chain[6])
	upper.Spec.Allow = append(make([]string, 0, 8), "upper")
	for range 2 {
		e := kind.Merge(attach.Subject{Chain: chain}, policies{upper, lower})
		if want := []string{"upper", "lower"}; !slices.Equal(e.Spec.Allow, want) {
			t.Errorf("got %v", e.Spec.Allow)
		}
	}
	if behind := upper.Spec.Allow[:2][1]; behind != "" || upper.Spec.RateLimit.Local != "upper" {
		t.Errorf("the upper policy has become %v and %q, %v", upper.Spec.Allow, behind, upper.Spec.RateLimit)
	}
}
