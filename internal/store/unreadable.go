package store

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// unreadable is an annotation of objects of which only the metadata could be read. No API server takes such a name, so no tenant can
// write it.
const unreadable = "gatewright.dev/not readable"

// MarkUnreadable says of an object why it cannot be read.
func MarkUnreadable(object metav1.Object, reason string) {
	object.SetAnnotations(map[string]string{unreadable: reason})
}

// Unreadable is why an object could not be read, and empty if it could.
func Unreadable(object metav1.Object) string { return object.GetAnnotations()[unreadable] }
