package watch

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

// trimming makes an informer drop what is never read before it keeps an object: what every kind carries for its writers, and what trim
// takes away if it is not nil. An informer may show an object a second time that others already read, so trim must write only where
// there is something to take away.
func trimming(trim func(store.Object)) toolscache.TransformFunc {
	return func(seen any) (any, error) {
		object, ok := seen.(client.Object)
		if !ok {
			return seen, nil
		}
		if object.GetManagedFields() != nil {
			object.SetManagedFields(nil)
		}
		if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
			annotations = maps.Clone(annotations)
			delete(annotations, corev1.LastAppliedConfigAnnotation)
			object.SetAnnotations(annotations)
		}
		if trim != nil {
			trim(object)
		}
		return seen, nil
	}
}
