package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

func TestXBackend(t *testing.T) {
	t.Parallel()
	theirs := gwxv1alpha1.BackendAncestorStatus{ControllerName: another, AncestorRef: ancestor(another, "theirs").AncestorRef}
	status := XBackend(
		gwxv1alpha1.BackendStatus{Ancestors: []gwxv1alpha1.BackendAncestorStatus{theirs}}, policyOutcome("ours"), ours, metav1.Now(),
	)
	if len(status.Ancestors) != 2 || status.Ancestors[0].ControllerName != another || status.Ancestors[1].AncestorRef.Name != "ours" ||
		status.Ancestors[1].Conditions[0].ObservedGeneration != 2 {
		t.Errorf("status: %+v", status)
	}
	if left := XBackend(status, policyOutcome(), ours, metav1.Now()).Ancestors; len(left) != 1 || left[0].ControllerName != another {
		t.Errorf("of an unused backend is left: %+v", left)
	}
}
