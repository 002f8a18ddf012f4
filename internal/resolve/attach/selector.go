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

// Select lists what selectors of a policy in a namespace select, sorted, each target once. Objects of other namespaces are selected only
// where granted says that a ReferenceGrant lets policies of this kind and namespace refer to them. A selector of a kind that has no
// namespaces, or that this kind of policy does not attach to, selects nothing.
func (k *Kind[S]) Select(
	namespace string, selectors []Selector, candidates []Candidate, granted func(Target) bool,
) ([]Target, *refs.Problem) {
	var targets []Target
	for i := range selectors {
		s := &selectors[i]
		selector, err := metav1.LabelSelectorAsSelector(&s.Labels)
		if err != nil {
			return nil, &refs.Problem{
				Reason:  string(gwv1.PolicyReasonInvalid),
				Message: fmt.Sprintf("targetSelectors[%d] cannot be read: %v; correct it", i, err),
			}
		}
		supported := slices.ContainsFunc(k.Targets, func(t TargetKind) bool { return t.Group == s.Group && t.Kind == s.Kind && !t.Cluster })
		if !supported {
			continue
		}
		for _, c := range candidates {
			same := c.Target.Group == s.Group && c.Target.Kind == s.Kind
			if same && selector.Matches(labels.Set(c.Labels)) && s.reaches(namespace, c.Target, granted) {
				targets = append(targets, c.Target.Object())
			}
		}
	}
	slices.SortFunc(targets, compareTargets)
	return slices.Compact(targets), nil
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
