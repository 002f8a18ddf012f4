package attach_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// scenario is some policies, one subject, and what one of the policies reaches.
type scenario struct {
	policies policies
	subject  attach.Subject
	policy   *policy
	reaches  []attach.Reach
}

func one[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func often[T any](r *rand.Rand, value T) (none T) {
	if r.IntN(3) > 0 {
		return value
	}
	return none
}

// randomTarget is mostly one of the chain, sometimes elsewhere, and sometimes nothing that can be a target.
func randomTarget(r *rand.Rand) attach.Target {
	switch r.IntN(10) {
	case 0:
		return attach.Target{
			Group: one(r, "", "example.com"), Kind: one(r, "", "Thing", "Service"), Name: one(r, "", "x"), Section: one(r, "", "s"),
		}
	case 1:
		return attach.Gateways.Target("infra", one(r, "a", "b"), one(r, "", "https"))
	default:
		return one(r, chain...)
	}
}

func randomPolicy(r *rand.Rand, name string) *policy {
	p := &policy{
		Ref: attach.Ref{Kind: kindName, Namespace: one(r, "app", "infra", "a-b", "a"), Name: name}, Created: r.Int64N(3), Generation: r.Int64N(9),
		Strategy: one(r, attach.Defaults, attach.Overrides, ""), Serves: "served",
	}
	p.Spec = spec{
		Retry: often(r, &name), Balance: often(r, []string{name}), Allow: often(r, []string{name}),
		RateLimit: often(r, &rateLimit{Local: often(r, name), Global: name}),
	}
	for range r.IntN(4) {
		p.Targets = append(p.Targets, randomTarget(r))
	}
	if r.IntN(5) == 0 {
		p = broken(p)
	}
	return p
}

func randomScenario(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test wants the same numbers each time
	var w scenario
	for i := range 1 + r.IntN(8) {
		w.policies = append(w.policies, randomPolicy(r, fmt.Sprintf("p%d", i)))
	}
	for _, t := range chain {
		if r.IntN(4) > 0 {
			w.subject.Chain = append(w.subject.Chain, t)
		}
	}
	if r.IntN(3) == 0 {
		setting := one(r, "balance", "retry", "allow", "nothing")
		w.subject.Inline = append(w.subject.Inline, attach.Inline{Setting: setting, Object: chain[7], Path: "spec.rules[0]"})
	}
	w.policy = one(r, w.policies...)
	for range r.IntN(40) {
		reach := attach.Reach{
			Gateway: one(r, "infra/a", "infra/b", "", "odd", fmt.Sprintf("infra/%d", r.IntN(30))), Target: randomTarget(r), Subject: randomTarget(r),
		}
		if r.IntN(8) == 0 {
			reach.Missing = attach.NotFound(reach.Target)
		} else {
			reach.Losses = kind.Merge(attach.Subject{Chain: []attach.Target{reach.Target, reach.Subject}}, w.policies).Losses
		}
		w.reaches = append(w.reaches, reach)
	}
	return w
}

const scenarios = 500

func TestOrderNeverMatters(t *testing.T) {
	t.Parallel()
	for seed := range uint64(scenarios) {
		w := randomScenario(seed)
		merged, status := kind.Merge(w.subject, w.policies), kind.Status(w.policy, w.reaches)

		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test wants the same numbers each time
		shuffle(r, w.policies)
		shuffle(r, w.subject.Chain)
		shuffle(r, w.reaches)
		for _, p := range w.policies {
			if p != w.policy {
				// The first target that has a problem speaks for the others, so those of the policy itself stay.
				shuffle(r, p.Targets)
			}
		}
		if diff := cmp.Diff(merged, kind.Merge(w.subject, w.policies)); diff != "" {
			t.Fatalf("seed %d: the effective policy depends on the order:\n%s", seed, diff)
		}
		if diff := cmp.Diff(status, kind.Status(w.policy, w.reaches)); diff != "" {
			t.Fatalf("seed %d: the status depends on the order:\n%s", seed, diff)
		}
	}
}

func shuffle[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// TestMergeIsTheRule compares with the rule as it is written: of each level the oldest, then the first by name; of the levels the
// uppermost that overrides, or else the most specific one.
func TestMergeIsTheRule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(scenarios) {
		w := randomScenario(seed)
		w.subject.Inline = nil
		want := ""
		for _, target := range w.subject.Chain {
			first := oldest(w.policies, target)
			if first == nil {
				continue
			}
			want = first.Ref.Name
			if first.Strategy == attach.Overrides {
				break
			}
		}
		merged := kind.Merge(w.subject, w.policies)
		if origin, _ := merged.Origin("balance"); origin.Object.Name != want {
			t.Fatalf("seed %d: got %s, want %s", seed, origin.Object.Name, want)
		}
	}
}

func oldest(policies policies, target attach.Target) *policy {
	var best *policy
	for _, p := range policies {
		if len(p.Spec.Balance) == 0 || !slices.Contains(p.Targets, target) {
			continue
		}
		if best == nil || p.Created < best.Created || p.Created == best.Created && p.Ref.Key() < best.Ref.Key() {
			best = p
		}
	}
	return best
}

// TestNoCombinationPanics runs everything on odd policies, and checks what holds for any of them.
func TestNoCombinationPanics(t *testing.T) {
	t.Parallel()
	for seed := range uint64(scenarios) {
		checkScenario(t, seed)
	}
}

func FuzzPolicies(f *testing.F) {
	f.Add(uint64(scenarios))
	f.Fuzz(checkScenario)
}

func checkScenario(t *testing.T, seed uint64) {
	t.Helper()
	w := randomScenario(seed)
	merged := kind.Merge(w.subject, w.policies)
	for _, l := range merged.Losses {
		if origin, ok := merged.Origin(l.Setting); ok && l.Cause != attach.RejectsInline && origin.Object == l.Policy {
			t.Errorf("seed %d: %s has lost what it decides: %+v", seed, l.Policy, l)
		}
	}
	for _, r := range merged.Rejections {
		_ = r.Problem("Any")
	}
	r := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // a test wants the same numbers each time
	neighbours := attach.Neighbours[spec]{
		Policies: func(attach.Target) policies { return w.policies },
		Missing: func(t attach.Target) *refs.Problem {
			return often(r, attach.SectionNotFound(t, one(r, "", "TCP port"), nil))
		},
		Gateways: func(attach.Target) []string { return often(r, []string{"infra/a", "infra/a", ""}) },
	}
	for _, k := range []attach.Kind[spec]{kind, direct, {}} {
		checkStatus(t, seed, k.Status(w.policy, w.reaches))
		checkStatus(t, seed, k.Status(w.policy, k.Direct(w.policy, neighbours)))
		var references []attach.Reference
		for _, target := range w.policy.Targets {
			references = append(references, attach.Reference{Group: target.Group, Kind: target.Kind, Name: target.Name, Section: target.Section})
		}
		targets, excluded := k.Attach("app", one(r, "", "app"), references)
		if len(targets)+len(excluded) != len(references) {
			t.Errorf("seed %d: a reference is lost: %v, %v", seed, targets, excluded)
		}
		_ = k.Notes(excluded, "app")
	}
	if status := kind.Status(w.policy, w.reaches); len(status.Ancestors) > outcome.MaxAncestors || len(status.Conditions) < 2 {
		t.Errorf("seed %d: %d ancestors, conditions %v", seed, len(status.Ancestors), status.Conditions)
	}
}

func checkStatus(t *testing.T, seed uint64, status outcome.Policy) {
	t.Helper()
	conditions := slices.Clone(status.Conditions)
	for _, a := range status.Ancestors {
		conditions = append(conditions, a.Conditions...)
	}
	for _, c := range conditions {
		if c.Type == "" || c.Reason == "" || c.Message == "" || (c.State != outcome.True && c.State != outcome.False) {
			t.Errorf("seed %d: a condition says too little: %+v", seed, c)
		}
	}
}
