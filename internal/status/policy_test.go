package status

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// ancestor is an entry of a policy's status as it is read back from the API.
func ancestor(controller gwv1.GatewayController, name string) gwv1.PolicyAncestorStatus {
	return gwv1.PolicyAncestorStatus{
		AncestorRef: gwv1.ParentReference{
			Group: new(gwv1.Group(gwv1.GroupName)), Kind: new(gwv1.Kind("Gateway")),
			Namespace: new(gwv1.Namespace("infra")), Name: gwv1.ObjectName(name),
		},
		ControllerName: controller,
		Conditions:     []metav1.Condition{stored("Accepted", metav1.ConditionTrue, 1)},
	}
}

func policyOutcome(names ...string) outcome.Policy {
	o := outcome.Policy{Generation: 2}
	for _, name := range names {
		o.Ancestors = append(o.Ancestors, outcome.Parent{
			Ref:        outcome.ParentRef{Group: new(gwv1.GroupName), Kind: new("Gateway"), Namespace: new("infra"), Name: name},
			Conditions: []outcome.Condition{wanted("Accepted", outcome.True)},
		})
	}
	return o
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	many := make([]gwv1.PolicyAncestorStatus, 0, outcome.MaxAncestors)
	for i := range outcome.MaxAncestors - 1 {
		many = append(many, ancestor(another, fmt.Sprintf("theirs-%d", i)))
	}
	for _, c := range []struct {
		name     string
		existing []gwv1.PolicyAncestorStatus
		wanted   []string
		want     []string
	}{
		{"a first ancestor is added", nil, []string{"gw"}, []string{"gw by us Accepted=True@2!"}},
		{
			"an entry of another controller stays in place",
			[]gwv1.PolicyAncestorStatus{ancestor(another, "gw"), ancestor(ours, "gw")},
			[]string{"gw"},
			[]string{"gw by example.com/other Accepted=True@1", "gw by us Accepted=True@2"},
		},
		{
			"a Gateway that no longer uses the target goes",
			[]gwv1.PolicyAncestorStatus{ancestor(ours, "old"), ancestor(another, "old")},
			nil,
			[]string{"old by example.com/other Accepted=True@1"},
		},
		{"no more than the API accepts", many, []string{"a", "b"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := policyOutcome(c.wanted...)
			got := Policy(gwv1.PolicyStatus{Ancestors: c.existing}, o, ours, late)
			if len(got.Ancestors) > outcome.MaxAncestors || got.Ancestors == nil {
				t.Errorf("%d ancestors", len(got.Ancestors))
			}
			if again := Policy(got, o, ours, late); !equality.Semantic.DeepEqual(got, again) {
				t.Errorf("a second time gives another status: %s", cmp.Diff(got, again))
			}
			if c.want == nil {
				return
			}
			var words []string
			for _, a := range got.Ancestors {
				by := string(a.ControllerName)
				if a.ControllerName == ours {
					by = "us"
				}
				words = append(words, fmt.Sprintf("%s by %s %s", a.AncestorRef.Name, by, spell(a.Conditions)))
			}
			if diff := cmp.Diff(c.want, words); diff != "" {
				t.Errorf("ancestors (-want +got):\n%s", diff)
			}
		})
	}
}
