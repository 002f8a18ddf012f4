package watch

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
)

var serviceKind = corev1.SchemeGroupVersion.WithKind("Service")

func ownedObject(entries ...metav1.ManagedFieldsEntry) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "edge", UID: "1", Labels: map[string]string{"a": "b"}, ManagedFields: entries,
	}}
	object.SetGroupVersionKind(serviceKind)
	return object
}

func wrote(manager, subresource, fields string, operation metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Subresource: subresource, Operation: operation, Time: new(metav1.Unix(1, 0)), FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func TestOwnedObjects(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	events := make(chan Owned, 100)
	if err := FollowOwned(t.Context(), c, []schema.GroupVersionKind{serviceKind}, func(o Owned) { events <- o }); err != nil {
		t.Fatal(err)
	}
	next := func() string {
		t.Helper()
		e := await(t, events, "a Service")
		return fmt.Sprintf("%s %s/%s %d gone=%t", e.Kind, e.Object.Namespace, e.Object.Name, len(e.Object.ManagedFields), e.Gone)
	}
	ours := wrote("gatewright", "", "{a}", metav1.ManagedFieldsOperationApply)
	source := c.of(serviceKind)
	source.Add(ownedObject(ours))
	if got := next(); got != "Service shop/edge 1 gone=false" {
		t.Fatalf("a new one: %s", got)
	}
	labelled := ownedObject(ours)
	labelled.Labels = map[string]string{"c": "d"}
	source.Modify(labelled)
	source.Modify(ownedObject(ours, wrote("other", "", "{b}", metav1.ManagedFieldsOperationUpdate)))
	if got := next(); got != "Service shop/edge 2 gone=false" {
		t.Fatalf("after a change of nothing and one of fields: %s", got)
	}
	source.Delete(ownedObject())
	if got := next(); got != "Service shop/edge 2 gone=true" && got != "Service shop/edge 0 gone=true" {
		t.Fatalf("a deletion: %s", got)
	}
}

func TestAMissedDeletionOfAnOwnedObject(t *testing.T) {
	t.Parallel()
	var got []Owned
	ownedHandler("Service", func(o Owned) { got = append(got, o) }).OnDelete(toolscache.DeletedFinalStateUnknown{
		Key: "shop/edge", Obj: ownedObject(),
	})
	if len(got) != 1 || !got[0].Gone || got[0].Object.Name != "edge" {
		t.Errorf("got %v", got)
	}
}

func TestTrimOwned(t *testing.T) {
	t.Parallel()
	ours := wrote("gatewright", "", "{a}", metav1.ManagedFieldsOperationApply)
	object := ownedObject(ours, wrote("kubectl", "", "{b}", metav1.ManagedFieldsOperationUpdate), wrote(
		"kubelet", "status", "{c}", metav1.ManagedFieldsOperationUpdate,
	))
	for range 2 {
		if _, err := trimOwned(object); err != nil {
			t.Fatal(err)
		}
		edited := metav1.ManagedFieldsEntry{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: ours.Time}
		if diff := cmp.Diff([]metav1.ManagedFieldsEntry{ours, edited}, object.ManagedFields); diff != "" || object.Labels != nil {
			t.Errorf("labels %v, managed fields (-want +got):\n%s", object.Labels, diff)
		}
	}
}
