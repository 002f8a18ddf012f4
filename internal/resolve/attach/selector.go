package attach

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// Selector is an entry of a policy's targetSelectors. It selects whole objects by their labels, as selectors of Kubernetes do.
type Selector struct {
	Group  string
	Kind   string
	Labels metav1.LabelSelector
	// AllNamespaces selects in namespaces besides that of the policy, where a ReferenceGrant allows it.
	AllNamespaces bool
}

// Candidate is an object that a selector may select.
type Candidate struct {
	Target Target
	Labels map[string]string
}

// Select lists what selectors of a policy in a namespace select, sorted, each target once, and says of each selector whether it selects
// something: in another namespace, if it is for all. Objects of other namespaces are selected only where granted says that a ReferenceGrant
// lets policies of this kind and namespace refer to them. A selector of a kind that has no namespaces, or that this kind of policy does not
// attach to, selects nothing.
func (k *Kind[S]) Select(
	namespace string, selectors []Selector, candidates []Candidate, granted func(Target) bool,
) (targets []Target, found []bool, problem *refs.Problem) {
	found = make([]bool, len(selectors))
	for i := range selectors {
		s := &selectors[i]
		selector, err := metav1.LabelSelectorAsSelector(&s.Labels)
		if err != nil {
			return nil, nil, &refs.Problem{
				Reason:  string(gwv1.PolicyReasonInvalid),
				Message: fmt.Sprintf("targetSelectors[%d] cannot be read: %v; correct it", i, err),
			}
		}
		if !k.selects(s) {
			continue
		}
		for _, c := range candidates {
			same := c.Target.Group == s.Group && c.Target.Kind == s.Kind
			if same && selector.Matches(labels.Set(c.Labels)) && s.reaches(namespace, c.Target, granted) {
				targets = append(targets, c.Target.Object())
				found[i] = found[i] || (c.Target.Namespace != namespace) == s.AllNamespaces
			}
		}
	}
	slices.SortFunc(targets, compareTargets)
	return slices.Compact(targets), found, nil
}

// selects says whether policies of this kind can have a selector for the kind of objects that one names.
func (k *Kind[S]) selects(s *Selector) bool {
	return slices.ContainsFunc(k.Targets, func(t TargetKind) bool { return t.Group == s.Group && t.Kind == s.Kind && !t.Cluster })
}

// Unselected are what to tell the author of a policy in a namespace about selectors that select nothing, one clause for each. group is that
// of the policy, and found what [Kind.Select] says. What other namespaces have and do not grant is not named.
func (k *Kind[S]) Unselected(group, namespace string, selectors []Selector, found []bool) []string {
	var notes []string
	for i := range selectors {
		s := &selectors[i]
		switch {
		case found[i]:
		case !k.selects(s):
			notes = append(notes, fmt.Sprintf("targetSelectors[%d] selects nothing: only %s can be a target", i, k.targetNames()))
		case s.AllNamespaces:
			notes = append(notes, fmt.Sprintf("targetSelectors[%d] selects no %s of another namespace: it needs these labels, and a ReferenceGrant "+
				"in its namespace from %s (%s) of namespace %s", i, s.Kind, k.Name, group, namespace))
		default:
			notes = append(notes, fmt.Sprintf("targetSelectors[%d] selects no %s of namespace %s: none has these labels", i, s.Kind, namespace))
		}
	}
	return notes
}

func (s *Selector) reaches(namespace string, t Target, granted func(Target) bool) bool {
	return t.Namespace == namespace || s.AllNamespaces && granted(t)
}

// compareTargets sorts by level first.
func compareTargets(a, b Target) int {
	return cmp.Or(
		cmp.Compare(a.Level(), b.Level()), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.Section, b.Section),
	)
}
