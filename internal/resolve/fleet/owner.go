package fleet

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// ownedBy reports whether an object belongs to the fleet of that Gateway, and not to one of the same name. An owner reference cannot cross
// namespaces: there a label names the owner.
func ownedBy(object metav1.Object, gateway ir.Gateway) bool {
	if gateway.Fleet.OtherNamespace != "" {
		return object.GetLabels()[ir.OwnerLabel] == gateway.Fleet.UID
	}
	owner := metav1.GetControllerOf(object)
	return owner != nil && string(owner.UID) == gateway.Fleet.UID
}
