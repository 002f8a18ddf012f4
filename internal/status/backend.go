package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/outcome"
)

// Backend returns the status of a Backend.
func Backend(existing v1alpha1.BackendStatus, o outcome.Policy, now metav1.Time) v1alpha1.BackendStatus {
	status := existing
	status.Conditions = mergeConditions(existing.Conditions, o.Conditions, wholePolicyTypes, observation{o.Generation, now})
	return status
}

func ownBackendSnapshot(status v1alpha1.BackendStatus) snapshot {
	return snapshot{part{"", status.Conditions}}
}
