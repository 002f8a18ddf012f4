package pipeline

import (
	"slices"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/store"
)

// TestEveryPolicyIsPublished looks for the outcomes of each kind whose status has ancestors.
func TestEveryPolicyIsPublished(t *testing.T) {
	t.Parallel()
	published := newGraph().policyOutcomes()
	for _, kind := range store.Kinds {
		if kind.Status == nil {
			continue
		}
		switch kind.Status(kind.Object).(type) {
		case *gwv1.PolicyStatus, *gwxv1alpha1.BackendStatus:
			if !slices.ContainsFunc(published, func(p policyOutcomes) bool { return p.kind == kind.Kind }) {
				t.Errorf("nothing is said about a %s", kind.Kind)
			}
		}
	}
}
