package attach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
)

func broken(p *policy) *policy {
	p.Accepted = &refs.Problem{Reason: "Invalid", Message: "balance cannot be read; correct it"}
	return p
}

func in(namespace string, p *policy) *policy {
	p.Ref.Namespace = namespace
	return p
}

// direct is a kind with one setting whose policies apply to their targets only.
var direct = attach.Kind[spec]{
	Name: kindName, Targets: []attach.TargetKind{attach.Services},
	Settings: []attach.Setting[spec]{attach.Whole[spec]("all")}, ResolvedRefs: true,
}

// lines are what conditions say.
func lines(conditions []outcome.Condition) []string {
	var text []string
	for _, c := range conditions {
		text = append(text, fmt.Sprintf("%s=%s %s: %s", c.Type, c.State, c.Reason, c.Message))
	}
	return text
}

// TestDirectStatus is about policies that apply to their targets only.
func TestDirectStatus(t *testing.T) {
	t.Parallel()
	service := func(name, port string) attach.Target { return attach.Services.Target("app", name, port) }
	one, two := service("one", ""), service("two", "")
	const fine = "Accepted=True Accepted: served; beware"
	for _, c := range []struct {
		name   string
		policy *policy
		others policies
		want   map[string]string
	}{
		{"accepted at each Gateway", named("p", 2, "", one, two), nil, map[string]string{"infra/a": fine, "infra/b": fine}},
		{"nothing uses the target", named("p", 2, "", service("unused", "")), nil, nil},
		{
			"a policy that cannot be served", broken(named("p", 2, "", two)), nil,
			map[string]string{"infra/b": "Accepted=False Invalid: balance cannot be read; correct it"},
		},
		{
			"a target that does not exist comes before what is wrong with the policy", broken(named("p", 2, "", service("gone", ""))), nil,
			map[string]string{"infra/b": "Accepted=False TargetNotFound: Service app/gone does not exist; create it, or correct the target"},
		},
		{
			"a conflict is reported where it is", named("p", 2, "", one, two),
			policies{named("older", 1, "", one)},
			map[string]string{
				"infra/a": "Accepted=False Conflicted: TestPolicy app/older targets the same Service app/one and takes precedence, " +
					"being older or first by name; remove one of the two",
				"infra/b": fine,
			},
		},
		{
			"a policy for a port does not conflict with one for the Service",
			named("p", 2, "", service("one", "web")),
			policies{named("older", 1, "", one)},
			map[string]string{"infra/a": fine},
		},
		{"the winner reports nothing", named("p", 0, "", one), policies{named("younger", 1, "", one)}, map[string]string{"infra/a": fine}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.policy.Serves, c.policy.Notes, c.policy.Generation = "served", []string{"beware"}, 7
			status := direct.Status(c.policy, direct.Direct(c.policy, attach.Neighbours[spec]{
				Policies: func(attach.Target) policies { return append(c.others, c.policy) },
				Missing: func(target attach.Target) *refs.Problem {
					if target.Name == "gone" {
						return attach.NotFound(target)
					}
					return nil
				},
				Gateways: func(target attach.Target) []string {
					return map[string][]string{"one": {"infra/a", "infra/a"}, "two": {"infra/b"}, "gone": {"infra/b"}}[target.Name]
				},
			}))
			if status.Generation != 7 || status.Conditions != nil || status.Summary != (outcome.PolicySummary{}) {
				t.Errorf("got %+v", status)
			}
			var got map[string]string
			for _, a := range status.Ancestors {
				if got == nil {
					got = map[string]string{}
				}
				text := lines(a.Conditions)
				if len(text) != 2 || text[1] != "ResolvedRefs=True ResolvedRefs: all references are resolved" {
					t.Errorf("conditions are %q", text)
				}
				got[*a.Ref.Namespace+"/"+a.Ref.Name] = text[0]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSectionNotFound(t *testing.T) {
	t.Parallel()
	problem := attach.SectionNotFound(attach.Services.Target("app", "one", "grpc"), "TCP port", []string{"http", "https"})
	const want = `Service app/one has no TCP port named "grpc", so the policy has no effect there; its ports are named ["http" "https"]: ` +
		`correct sectionName, or the name`
	if problem.Reason != "TargetNotFound" || problem.Message != want {
		t.Errorf("got %+v, want %s", problem, want)
	}
}

// reachesOf merges what is above each of some rules and lists what a policy reaches.
func reachesOf(p *policy, all policies, gateway string, inline []attach.Inline, rules ...attach.Target) []attach.Reach {
	var reaches []attach.Reach
	for _, rule := range rules {
		subject := attach.Subject{
			Chain: []attach.Target{attach.Gateways.Target("infra", strings.TrimPrefix(gateway, "infra/"), ""), rule.Object(), rule}, Inline: inline,
		}
		merged := kind.Merge(subject, all)
		for _, t := range p.Targets {
			if slices.Contains(subject.Chain, t) {
				reaches = append(reaches, attach.Reach{Gateway: gateway, Target: t, Subject: rule, Losses: merged.Losses})
			}
		}
	}
	return reaches
}

const (
	overridden = "TestPolicy app/q overrides rateLimit.local for all of Gateway infra/a; " +
		"remove it here, or set the strategy of that policy to Defaults"
	conflicted = "TestPolicy app/q sets rateLimit.local for the same HTTPRoute app/r and takes precedence, " +
		"being older or first by name; remove it from one of the two"
	rejects = "rule one of HTTPRoute app/r has spec.rules[0].limit of its own and is rejected, " +
		"since this policy overrides rateLimit.local; remove the field there, or set the strategy to Defaults"
)

// TestInheritedStatus is about policies that apply to what is below their targets too.
func TestInheritedStatus(t *testing.T) {
	t.Parallel()
	gateway, route := attach.Gateways.Target("infra", "a", ""), attach.HTTPRoutes.Target("app", "r", "")
	rules := []attach.Target{attach.HTTPRoutes.Target("app", "r", "one"), attach.HTTPRoutes.Target("app", "r", "two")}
	inline := []attach.Inline{{Setting: "rateLimit.local", Object: rules[0], Path: "spec.rules[0].limit"}}
	// both is a policy with two settings, limit is one with one of these.
	both := func(name string, created int64, strategy attach.Strategy, target attach.Target) *policy {
		p := named(name, created, strategy, target)
		p.Spec.Allow, p.Serves = nil, "served"
		return p
	}
	limit := func(name string, created int64, strategy attach.Strategy, target attach.Target) *policy {
		p := both(name, created, strategy, target)
		p.Spec.Balance = nil
		return p
	}
	for _, c := range []struct {
		name    string
		policy  *policy
		other   *policy
		inline  []attach.Inline
		want    []string
		summary outcome.PolicySummary
	}{
		{"all settings take effect", both("p", 2, attach.Defaults, route), nil, nil, nil, outcome.PolicySummary{Targets: 1, Affected: 2}},
		{
			"a default that is replaced is not reported", both("p", 2, attach.Defaults, gateway), both("q", 1, "", route), nil,
			nil,
			outcome.PolicySummary{Targets: 1, Affected: 2},
		},
		{
			"some settings are overridden", both("p", 2, attach.Defaults, route), limit("q", 3, attach.Overrides, gateway), nil,
			[]string{"Programmed=False PartiallyProgrammed: some settings have no effect: " + overridden},
			outcome.PolicySummary{Targets: 1, Affected: 2, Overridden: 2},
		},
		{
			"all settings are overridden", limit("p", 2, attach.Defaults, route), limit("q", 3, attach.Overrides, gateway), nil,
			[]string{"Programmed=False Overridden: no setting takes effect: " + overridden},
			outcome.PolicySummary{Targets: 1, Affected: 2, Overridden: 2},
		},
		{
			"all settings conflict", limit("p", 2, attach.Defaults, route), limit("q", 1, attach.Defaults, route), nil,
			[]string{"Accepted=False Conflicted: " + conflicted, "Programmed=False Conflicted: the policy is not accepted: " + conflicted},
			outcome.PolicySummary{Targets: 1, Affected: 2, Overridden: 2},
		},
		{
			"some settings conflict", both("p", 2, attach.Defaults, route), limit("q", 1, attach.Defaults, route), nil,
			[]string{"Programmed=False PartiallyProgrammed: some settings have no effect: " + conflicted},
			outcome.PolicySummary{Targets: 1, Affected: 2, Overridden: 2},
		},
		{
			"an override of an inline field", limit("p", 2, attach.Overrides, gateway), both("q", 3, attach.Defaults, gateway), inline,
			[]string{"Programmed=False Overridden: no setting takes effect: " + rejects},
			outcome.PolicySummary{Targets: 1, Affected: 2, Failing: 2},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := policies{c.policy}
			if c.other != nil {
				all = append(all, c.other)
			}
			status := kind.Status(c.policy, reachesOf(c.policy, all, "infra/a", c.inline, rules...))
			if len(status.Ancestors) != 1 || status.Summary != c.summary {
				t.Fatalf("ancestors are %+v, summary is %+v, want %+v", status.Ancestors, status.Summary, c.summary)
			}
			got := slices.DeleteFunc(lines(status.Ancestors[0].Conditions), func(line string) bool {
				return line == "Accepted=True Accepted: served" || strings.HasPrefix(line, "ResolvedRefs=True")
			})
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestStatusAsAWhole is about the conditions of inherited policies that do not belong to an ancestor.
func TestStatusAsAWhole(t *testing.T) {
	t.Parallel()
	route, gone := attach.HTTPRoutes.Target("app", "r", ""), attach.HTTPRoutes.Target("app", "gone", "")
	for _, c := range []struct {
		name    string
		policy  *policy
		reaches []attach.Reach
		want    string
	}{
		{"fine", named("p", 1, "", route), []attach.Reach{{Gateway: "infra/a", Target: route, Subject: route}}, "Accepted=True Accepted: served"},
		{"unused", named("p", 1, "", route), nil, "Accepted=True Accepted: served; no Gateway uses its targets"},
		{"no targets", named("p", 1, ""), nil, "Accepted=False Invalid: the policy has no target; add one"},
		{"broken", broken(named("p", 1, "")), nil, "Accepted=False Invalid: balance cannot be read; correct it"},
		{
			"a target that does not exist has no Gateway", named("p", 1, "", gone, route),
			[]attach.Reach{{Target: gone, Subject: gone, Missing: attach.NotFound(gone)}, {Gateway: "infra/a", Target: route, Subject: route}},
			"Accepted=False TargetNotFound: HTTPRoute app/gone does not exist; create it, or correct the target",
		},
		{
			"several Gateways", named("p", 1, "", gone),
			[]attach.Reach{
				{Gateway: "infra/b", Target: gone, Subject: gone, Missing: attach.NotFound(gone)},
				{Gateway: "infra/a", Target: gone, Subject: gone, Missing: attach.NotFound(gone)},
			},
			"Accepted=False TargetNotFound: at Gateway infra/a: HTTPRoute app/gone does not exist; create it, or correct the target; and at 1 more",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.policy.Serves = "served"
			if got := lines(kind.Status(c.policy, c.reaches).Conditions)[0]; got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestAConflictAtSomeTargets is about a policy that loses all settings at one of its two targets, to an older one there.
func TestAConflictAtSomeTargets(t *testing.T) {
	t.Parallel()
	one, two := attach.HTTPRoutes.Target("app", "r", ""), attach.HTTPRoutes.Target("app", "s", "")
	gone := attach.HTTPRoutes.Target("app", "gone", "")
	p := named("p", 2, "", one, two, gone)
	p.Spec.Allow, p.Spec.Balance, p.Serves = nil, nil, "served"
	older := attach.Origin{Setting: "rateLimit.local", Object: attach.Ref{Kind: "TestPolicy", Namespace: "app", Name: "q"}, Target: one}
	conflict := []attach.Loss{{Setting: "rateLimit.local", Policy: p.Ref, Target: one, Cause: attach.Conflicted, Winner: older}}
	partial := []string{"Accepted=True Accepted: served", "Programmed=False PartiallyProgrammed: some settings have no effect: " + conflicted}
	for _, c := range []struct {
		name    string
		reaches []attach.Reach
		want    []string
	}{
		{
			"at one Gateway",
			[]attach.Reach{
				{Gateway: "infra/a", Target: one, Subject: one, Losses: conflict}, {Gateway: "infra/a", Target: two, Subject: two},
			},
			partial,
		},
		{
			"at two Gateways",
			[]attach.Reach{
				{Gateway: "infra/a", Target: one, Subject: one, Losses: conflict}, {Gateway: "infra/b", Target: two, Subject: two},
			},
			partial,
		},
		{
			"beside a target that does not exist",
			[]attach.Reach{
				{Gateway: "infra/a", Target: one, Subject: one, Losses: conflict},
				{Gateway: "infra/a", Target: two, Subject: two},
				{Gateway: "infra/a", Target: gone, Subject: gone, Missing: attach.NotFound(gone)},
			},
			[]string{
				"Accepted=False TargetNotFound: at Gateway infra/a: " + attach.NotFound(gone).Message,
				"Programmed=False TargetNotFound: the policy is not accepted: at Gateway infra/a: " + attach.NotFound(gone).Message,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := slices.DeleteFunc(lines(kind.Status(p, c.reaches).Conditions), func(line string) bool {
				return strings.HasPrefix(line, "ResolvedRefs=True")
			})
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestStatusHasFailingAncestorsFirst(t *testing.T) {
	t.Parallel()
	route := attach.HTTPRoutes.Target("app", "r", "")
	p := named("p", 1, "", route)
	var reaches []attach.Reach
	for i := range 30 {
		r := attach.Reach{Gateway: fmt.Sprintf("infra/%02d", i), Target: route, Subject: route}
		switch i {
		case 28:
			r.Losses = []attach.Loss{{Setting: "balance", Policy: p.Ref, Target: route, Cause: attach.Overridden}}
		case 29:
			r.Missing = attach.NotFound(route)
		}
		reaches = append(reaches, r)
	}
	var got []string
	for _, a := range kind.Status(p, reaches).Ancestors {
		got = append(got, a.Ref.Name)
	}
	want := []string{"29", "28", "00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
