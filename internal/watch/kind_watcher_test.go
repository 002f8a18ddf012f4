package watch

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

var olderGrant = schema.GroupVersionKind{Group: gwv1.GroupName, Version: "v1beta1", Kind: "ReferenceGrant"}

func grant(name string) *gwv1.ReferenceGrant {
	return &gwv1.ReferenceGrant{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, Generation: 1},
		Spec:       gwv1.ReferenceGrantSpec{To: []gwv1.ReferenceGrantTo{{Kind: "Service"}}},
	}
}

func older(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"to": []any{map[string]any{
		"group": "", "kind": "Service",
	}}}}}
	u.SetGroupVersionKind(olderGrant)
	u.SetNamespace("app")
	u.SetName(name)
	u.SetGeneration(1)
	return u
}

func next(t *testing.T, events <-chan Event, setServedVersion string) Event {
	t.Helper()
	e := await(t, events, setServedVersion)
	if diff := cmp.Diff(setServedVersion, spell(e)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	return e
}

// await returns what comes next.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case e := <-from:
		return e
	case <-time.After(timeout):
		t.Fatalf("nothing came, want %s", what)
		panic("unreachable")
	}
}

func TestAKindIsWatchedWhenItsDefinitionAppearsAndForgottenWhenItGoes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, store.GRPCRoute)
	route := &gwv1.GRPCRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "r"}}
	c.source(store.GRPCRoute).Add(route.DeepCopy())
	_, events := watching(t, c)
	c.onCRD(store.GRPCRoute, "v1")
	next(t, events, "GRPCRoute app/r changed")
	c.undefine(store.GRPCRoute)
	next(t, events, "GRPCRoute app/r gone")
	c.onCRD(store.GRPCRoute, "v1")
	next(t, events, "GRPCRoute app/r changed")
}

func TestAKindServedInAnotherVersionIsReadFromThere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, store.ReferenceGrant)
	c.onCRD(store.ReferenceGrant, "v1beta1")
	c.of(olderGrant).Add(older("g"))
	_, events := watching(t, c)
	e := next(t, events, "ReferenceGrant app/g changed")
	setServedVersion := grant("g")
	setServedVersion.ResourceVersion = "1"
	if diff := cmp.Diff(setServedVersion, e.Object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

func TestAnUpgradeTakesNothingAwayThatIsStillThere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, store.ReferenceGrant)
	c.onCRD(store.ReferenceGrant, "v1beta1")
	c.of(olderGrant).Add(older("gone"))
	c.of(olderGrant).Add(older("stays"))
	c.source(store.ReferenceGrant).Add(grant("stays"))
	_, events := watching(t, c)
	await(t, events, "the first grant")
	await(t, events, "the second grant")
	c.definitions().Modify(definition(store.ReferenceGrant, "v1"))
	next(t, events, "ReferenceGrant app/stays changed")
	next(t, events, "ReferenceGrant app/gone gone")
}

func TestADefinitionWithoutAVersionWeReadBringsNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, store.TLSRoute)
	c.onCRD(store.TLSRoute, "v7")
	w, _ := watching(t, c) // it does not wait for the kind
	if got := w.watchers[definition(store.TLSRoute, "").Name].reading(); got != "" {
		t.Errorf("version %q is read", got)
	}
}

func TestStartWaitsForTheKindsWithoutWhichNothingCanBeServed(t *testing.T) {
	t.Parallel()
	c := newCluster(t, store.Gateway)
	w := New(c, slog.New(slog.DiscardHandler), func(Event) {})
	started := make(chan error, 1)
	go func() { started <- w.Start(t.Context()) }()
	for deadline := time.Now().Add(timeout); !slices.Equal(w.Missing(), []store.Kind{store.Gateway}); {
		select {
		case err := <-started:
			t.Fatalf("it did not wait: %v, missing %v", err, w.Missing())
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("missing %v, want the Gateway", w.Missing())
		}
	}
	c.onCRD(store.Gateway, "v1")
	if err := await(t, started, "the end of the start"); err != nil || w.Missing() != nil {
		t.Errorf("after the kind appeared: %v, missing %v", err, w.Missing())
	}
}
