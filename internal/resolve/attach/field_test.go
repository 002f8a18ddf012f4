package attach_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/resolve/attach"
)

type tree struct {
	Shared `json:",inline"`
	Leaf   *string `json:"leaf,omitempty"`
	Branch *branch `json:"branch,omitempty"`
}

// Shared is embedded, as specs embed their targets.
type Shared struct {
	Names []string `json:"names,omitempty"`
}

type branch struct {
	Leaf  *int           `json:"leaf,omitempty"`
	Other *int           `json:"other,omitempty"`
	Map   map[string]int `json:"map,omitempty"`
	Value int            `json:"value,omitempty"`
}

func TestFields(t *testing.T) {
	t.Parallel()
	one, two, text := 1, 2, "a"
	kind := attach.Kind[tree]{
		Targets: []attach.TargetKind{
			attach.Gateways,
		},
		Settings: attach.Fields[tree]("leaf", "names", "branch.leaf", "branch.other", "branch.map"),
	}
	target := attach.Gateways.Target("n", "g", "")
	listener := attach.Gateways.Target("n", "g", "l")
	policies := []*attach.Policy[tree]{
		{
			Ref: attach.Ref{Name: "upper"}, Targets: []attach.Target{target},
			Spec: tree{Leaf: &text, Branch: &branch{Leaf: &one, Other: &one}},
		},
		{
			Ref: attach.Ref{Name: "lower"}, Targets: []attach.Target{listener},
			Spec: tree{Shared: Shared{Names: []string{"x"}}, Branch: &branch{Leaf: &two, Map: map[string]int{}}},
		},
	}
	merged := kind.Merge(attach.Subject{Chain: []attach.Target{target, listener}}, policies)
	want := tree{Shared: Shared{Names: []string{"x"}}, Leaf: &text, Branch: &branch{Leaf: &two, Other: &one}}
	if diff := cmp.Diff(want, merged.Spec); diff != "" {
		t.Errorf("merged (want -, got +):\n%s", diff)
	}
	if policies[0].Spec.Branch == merged.Spec.Branch || policies[1].Spec.Branch == merged.Spec.Branch {
		t.Error("the effective policy shares a struct with a policy")
	}
	for path, what := range map[string]string{
		"nothing": "does not exist", "branch.value": "cannot be left out",
		"leaf.more": "has no fields",
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a setting at %s, which %s", path, what)
				}
			}()
			attach.Field[tree](path)
		}()
	}
}
