package watch

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/gatewright/gatewright/internal/store"
)

// Owned is an object that Gatewright applied, as an informer saw it. Of its metadata there is only what tells whether it is still as it was
// applied.
type Owned struct {
	Kind   string
	Object *metav1.PartialObjectMetadata
	// Gone says that it was deleted, or that it lost its labels.
	Gone bool
}

// OwnedCacheOptions makes a cache hold the metadata of the objects of fleets.
func OwnedCacheOptions(scope Scope) cache.Options {
	options := cache.Options{DefaultLabelSelector: scope.Fleets, DefaultTransform: trimOwned, ReaderFailOnMissingInformer: true}
	if len(scope.Namespaces) > 0 {
		options.DefaultNamespaces = namespaces(scope.Namespaces...)
	}
	return options
}

// FollowOwned passes the objects of some kinds to the sink, and each change of them, until the cache ends. It does not wait for them.
func FollowOwned(ctx context.Context, informers cache.Informers, kinds []schema.GroupVersionKind, sink func(Owned)) error {
	for _, kind := range kinds {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(kind)
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %s of fleets: %w", kind.Kind, err)
		}
		if _, err := informer.AddEventHandlerWithResyncPeriod(ownedHandler(kind.Kind, sink), 0); err != nil {
			return fmt.Errorf("watch %s of fleets: %w", kind.Kind, err)
		}
	}
	return nil
}

func ownedHandler(kind string, sink func(Owned)) toolscache.ResourceEventHandler {
	pass := func(seen any, gone bool) {
		if unknown, ok := seen.(toolscache.DeletedFinalStateUnknown); ok {
			seen = unknown.Obj
		}
		if object, ok := seen.(*metav1.PartialObjectMetadata); ok {
			sink(Owned{Kind: kind, Object: object, Gone: gone})
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) { pass(added, false) },
		UpdateFunc: func(previous, updated any) {
			before, fine := previous.(*metav1.PartialObjectMetadata)
			after, good := updated.(*metav1.PartialObjectMetadata)
			if fine && good && changedOwned(before, after) {
				pass(after, false)
			}
		},
		DeleteFunc: func(deleted any) { pass(deleted, true) },
	}
}

// changedOwned leaves out what only changed status: that is most of what happens to a workload or an autoscaler.
func changedOwned(before, after *metav1.PartialObjectMetadata) bool {
	return store.Replaced(before, after) || !equality.Semantic.DeepEqual(before.ManagedFields, after.ManagedFields)
}

// trimOwned keeps who has which fields by applying them, and the names of the others who wrote the object. It changes nothing that was
// trimmed before.
func trimOwned(seen any) (any, error) {
	object, ok := seen.(*metav1.PartialObjectMetadata)
	if !ok {
		return seen, nil
	}
	if object.Labels != nil {
		object.Labels = nil
	}
	if object.Annotations != nil {
		object.Annotations = nil
	}
	if object.OwnerReferences != nil {
		object.OwnerReferences = nil
	}
	kept := make([]metav1.ManagedFieldsEntry, 0, len(object.ManagedFields))
	for _, entry := range object.ManagedFields {
		if entry.Subresource != "" {
			continue
		}
		if entry.Operation != metav1.ManagedFieldsOperationApply {
			entry.FieldsV1 = nil
		}
		kept = append(kept, entry)
	}
	if !equality.Semantic.DeepEqual(kept, object.ManagedFields) {
		object.ManagedFields = slices.Clip(kept)
	}
	return object, nil
}
