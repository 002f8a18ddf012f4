package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// Policy returns the status of a policy. Entries of other controllers keep their content and position; ours for ancestors that the
// outcome no longer names are removed. The list is never nil, because the API requires it. It is idempotent.
func Policy(existing gwv1.PolicyStatus, o outcome.Policy, controller gwv1.GatewayController, now metav1.Time) gwv1.PolicyStatus {
	at := observation{o.Generation, now}
	status := existing
	status.Ancestors = shared[gwv1.PolicyAncestorStatus, outcome.Parent]{
		limit: outcome.MaxAncestors,
		ours:  func(a gwv1.PolicyAncestorStatus) bool { return a.ControllerName == controller },
		same:  func(a gwv1.PolicyAncestorStatus, w outcome.Parent) bool { return sameParent(a.AncestorRef, w.Ref) },
		update: func(a gwv1.PolicyAncestorStatus, w outcome.Parent) gwv1.PolicyAncestorStatus {
			// As with routes, a stored reference is kept as it is stored.
			if a.ControllerName == "" {
				a.AncestorRef = parentReference(w.Ref)
			}
			a.ControllerName = controller
			a.Conditions = mergeConditions(a.Conditions, w.Conditions, policyTypes, at)
			return a
		},
	}.merge(existing.Ancestors, o.Ancestors)
	return status
}
