package gateway

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// NamespaceRule says which namespaces something may come from. A nil Selector means only Home.
type NamespaceRule struct {
	// Home is the namespace of the object that has the rule.
	Home     string
	All      bool
	Selector labels.Selector
}

// maxSelector is how many labels, expressions and values a selector may have. Each route is compared with the selector of every listener.
const maxSelector = 256

func selectorSize(selector *metav1.LabelSelector) int {
	if selector == nil {
		return 0
	}
	n := len(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		n += 1 + len(selector.MatchExpressions[i].Values)
	}
	return n
}

// namespaceRule reads a rule of the standard. The message says what is wrong with one that cannot be read.
func namespaceRule(home string, from gwv1.FromNamespaces, selector *metav1.LabelSelector) (NamespaceRule, string) {
	rule := NamespaceRule{Home: home}
	switch from {
	case gwv1.NamespacesFromAll:
		rule.All = true
	case gwv1.NamespacesFromSelector:
		if selectorSize(selector) > maxSelector {
			return rule, fmt.Sprintf("namespaces.selector has more than %d labels and values; give the namespaces a label in common", maxSelector)
		}
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return rule, fmt.Sprintf("namespaces.selector is not a label selector: %v", err)
		}
		rule.Selector = parsed
	case gwv1.NamespacesFromNone:
		rule.Selector = labels.Nothing()
	case gwv1.NamespacesFromSame:
	}
	return rule, ""
}

// Admits says whether the rule lets in what comes from a namespace. Labels are read only where a selector asks for them.
func (r NamespaceRule) Admits(v *store.View, objects *store.Objects, namespace string) bool {
	switch {
	case r.All:
		return true
	case r.Selector == nil:
		return namespace == r.Home
	default:
		found, ok := objects.Namespaces.Get(v, namespace)
		return ok && r.Selector.Matches(labels.Set(found.Labels))
	}
}
