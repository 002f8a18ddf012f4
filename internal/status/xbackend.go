package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// maxBackendAncestors is the limit of the API, which differs from that of policies.
const maxBackendAncestors = 32

// XBackend returns the status of an XBackend. Like that of a policy it is shared with other controllers, see [Policy].
func XBackend(
	existing gwxv1alpha1.BackendStatus, o outcome.Policy, controller gwv1.GatewayController, now metav1.Time,
) gwxv1alpha1.BackendStatus {
	at := observation{o.Generation, now}
	status := existing
	status.Ancestors = shared[gwxv1alpha1.BackendAncestorStatus, outcome.Parent]{
		limit: maxBackendAncestors,
		ours:  func(a gwxv1alpha1.BackendAncestorStatus) bool { return a.ControllerName == controller },
		same: func(a gwxv1alpha1.BackendAncestorStatus, w outcome.Parent) bool {
			return sameParent(a.AncestorRef, w.Ref)
		},
		update: func(a gwxv1alpha1.BackendAncestorStatus, w outcome.Parent) gwxv1alpha1.BackendAncestorStatus {
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

func backendSnapshot(controller gwv1.GatewayController) func(gwxv1alpha1.BackendStatus) snapshot {
	return func(status gwxv1alpha1.BackendStatus) snapshot {
		var s snapshot
		for _, a := range status.Ancestors {
			if a.ControllerName == controller {
				s = append(s, part{parentName(a.AncestorRef), a.Conditions})
			}
		}
		return s
	}
}
