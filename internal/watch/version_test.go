package watch

import (
	"log/slog"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

func TestStatusIsWrittenInTheVersionThatIsServed(t *testing.T) {
	t.Parallel()
	c := newCluster(t, store.TLSRoute)
	c.onCRD(store.TLSRoute, "v1alpha2")
	w, _ := watching(t, c)
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(schema.GroupVersionKind{Group: gwv1.GroupName, Version: "v1alpha2", Kind: "TLSRoute"})
	route.SetNamespace("app")
	route.SetName("r")
	server := fake.NewClientBuilder().WithObjects(route).WithStatusSubresource(route).Build()
	statuses := w.Statuses(server, server)

	key := client.ObjectKeyFromObject(route)
	var before gwv1.TLSRoute
	if err := statuses.Get(t.Context(), key, &before); err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopy()
	after.Status.Parents = []gwv1.RouteParentStatus{{ControllerName: "example.com/x", Conditions: []metav1.Condition{}}}
	if err := statuses.Status().Patch(t.Context(), after, client.MergeFrom(&before)); err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion == before.ResourceVersion {
		t.Error("the reply was not read")
	}
	if err := server.Get(t.Context(), key, route); err != nil {
		t.Fatal(err)
	}
	if parents, _, _ := unstructured.NestedSlice(route.Object, "status", "parents"); len(parents) != 1 {
		t.Errorf("stored: %v", route.Object)
	}
}

func TestAnObjectOfAKindThatIsNotServedIsNotFound(t *testing.T) {
	t.Parallel()
	server := fake.NewClientBuilder().Build()
	w := New(newCluster(t), slog.New(slog.DiscardHandler), func(Event) {})
	err := w.Statuses(server, server).Get(t.Context(), client.ObjectKey{Namespace: "app", Name: "r"}, &gwv1.GRPCRoute{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}
