package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	inferencexv1alpha1 "sigs.k8s.io/gateway-api-inference-extension/apix/v1alpha1"
)

func TestInferencePool(t *testing.T) {
	t.Parallel()
	theirs := inferencev1.ParentStatus{
		ControllerName: inferencev1.ControllerName(another), ParentRef: inferencev1.ParentReference{Name: "theirs"},
	}
	before := inferencev1.InferencePoolStatus{Parents: []inferencev1.ParentStatus{theirs}}
	status := InferencePool(before, policyOutcome("ours"), ours, metav1.Now())
	if len(status.Parents) != 2 || status.Parents[0].ControllerName != inferencev1.ControllerName(another) ||
		status.Parents[1].ParentRef.Name != "ours" || status.Parents[1].Conditions[0].ObservedGeneration != 2 {
		t.Errorf("status: %+v", status)
	}
	if again := InferencePool(status, policyOutcome("ours"), ours, metav1.Now()); len(again.Parents) != 2 {
		t.Errorf("the second time it is %+v", again)
	}
	if left := InferencePool(status, policyOutcome(), ours, metav1.Now()).Parents; len(left) != 1 || left[0].ParentRef.Name != "theirs" {
		t.Errorf("of a pool that is not used is left: %+v", left)
	}
	own := InferencePool(inferencev1.InferencePoolStatus{}, policyOutcome("ours"), ours, metav1.Now())
	if left := InferencePool(own, policyOutcome(), ours, metav1.Now()).Parents; left != nil {
		t.Errorf("of a pool that only we used is left: %+v", left)
	}
}

func TestInferencePoolImport(t *testing.T) {
	t.Parallel()
	theirs := inferencexv1alpha1.ImportController{
		Name: inferencexv1alpha1.ControllerName(another), ExportingClusters: []inferencexv1alpha1.ExportingCluster{{Name: "far"}},
	}
	before := inferencexv1alpha1.InferencePoolImportStatus{Controllers: []inferencexv1alpha1.ImportController{theirs}}
	status := InferencePoolImport(before, policyOutcome("ours"), ours, metav1.Now())
	if len(status.Controllers) != 2 || status.Controllers[0].ExportingClusters[0].Name != "far" ||
		status.Controllers[1].Parents[0].ParentRef.Name != "ours" {
		t.Errorf("status: %+v", status)
	}
	left := InferencePoolImport(status, policyOutcome(), ours, metav1.Now())
	if len(left.Controllers) != 1 || left.Controllers[0].Name != inferencexv1alpha1.ControllerName(another) {
		t.Errorf("of an import that is not referred to is left: %+v", left)
	}
}
