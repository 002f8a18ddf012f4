package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/outcome"
)

// OwnPolicy is the status of a policy of our own API: in addition to what every policy has, conditions and a summary of the whole.
func OwnPolicy(existing v1alpha1.PolicyStatus, o outcome.Policy, controller gwv1.GatewayController, now metav1.Time) v1alpha1.PolicyStatus {
	status := existing
	status.Ancestors = Policy(gwv1.PolicyStatus{Ancestors: existing.Ancestors}, o, controller, now).Ancestors
	status.Conditions = mergeConditions(existing.Conditions, o.Conditions, wholePolicyTypes, observation{o.Generation, now})
	status.Summary = &v1alpha1.PolicySummary{
		Targets: int32(o.Summary.Targets), Affected: int32(o.Summary.Affected), //nolint:gosec // far fewer than fit
		Overridden: int32(o.Summary.Overridden), Failing: int32(o.Summary.Failing), //nolint:gosec // the same
	}
	return status
}

// wholePolicyTypes are the conditions of a policy as a whole.
var wholePolicyTypes = ownedTypes(
	string(gwv1.PolicyConditionAccepted),
	string(gwv1.BackendTLSPolicyConditionResolvedRefs),
	outcome.Programmed,
)

func ownPolicySnapshot(controller gwv1.GatewayController) func(v1alpha1.PolicyStatus) snapshot {
	ancestors := policySnapshot(controller)
	return func(status v1alpha1.PolicyStatus) snapshot {
		return ancestors(gwv1.PolicyStatus{Ancestors: status.Ancestors})
	}
}
