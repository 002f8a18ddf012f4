package gateway

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ownedBy says whether an object belongs to the fleet of the Gateway with that UID, and not to a namesake.
func ownedBy(object metav1.Object, uid string) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && string(owner.UID) == uid
}
