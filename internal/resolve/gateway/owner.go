package gateway

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// ownedBy says whether an object belongs to the fleet of that Gateway, and not to a namesake. In another namespace a Gateway can own nothing, and a label says so.
func ownedBy(object metav1.Object, gateway ir.Gateway) bool {
	if gateway.Fleet.Abroad != "" {
		return object.GetLabels()[ir.OwnerLabel] == gateway.Fleet.UID
	}
	owner := metav1.GetControllerOf(object)
	return owner != nil && string(owner.UID) == gateway.Fleet.UID
}
