package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := store.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func gvkOf(t *testing.T, scheme *runtime.Scheme, object client.Object) schema.GroupVersionKind {
	t.Helper()
	kinds, _, err := scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	return kinds[0]
}

func kindOf(t *testing.T, object client.Object) store.Kind {
	t.Helper()
	for _, kind := range store.Kinds {
		if kind.Object == object {
			return kind.Kind
		}
	}
	t.Fatalf("%T is not watched", object)
	return ""
}

func TestKindsAreWatchedByTheirOwnType(t *testing.T) {
	t.Parallel()
	scheme := newScheme(t)
	objects := store.NewObjects(store.New())
	for _, kind := range store.Kinds {
		if got := gvkOf(t, scheme, kind.Object).Kind; got != string(kind.Kind) {
			t.Errorf("%s is watched as %s", kind.Kind, got)
		}
		// It panics when the store takes another type for this kind, or does not know it.
		objects.Apply(store.Change{Kind: kind.Kind, Key: "x", Object: kind.Object})
	}
}

func TestStartReturnsAfterTheSinkHasSeenEverything(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const each = 50
	kinds := 0
	for _, kind := range store.Kinds {
		if kind.Kind == store.CustomResourceDefinition || kind.NeededBy != nil {
			continue
		}
		kinds++
		for i := range each {
			object := clone(t, kind.Object)
			object.SetName(fmt.Sprintf("object-%d", i))
			c.source(kind.Kind).Add(object)
		}
	}
	var seen atomic.Int32
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	err := New(c, slog.New(slog.DiscardHandler), func(e Event) {
		if e.Kind == store.CustomResourceDefinition {
			return
		}
		<-time.After(time.Millisecond) // a sink that takes its time
		seen.Add(1)
	}).Start(ctx)
	if got, setServedVersion := int(seen.Load()), each*kinds; err != nil || got != setServedVersion {
		t.Errorf("the sink had seen %d of %d objects; error: %v", got, setServedVersion, err)
	}
}

func TestStartPassesChanges(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw", Generation: 1}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "cert"}}
	c.source(store.Gateway).Add(gateway.DeepCopy())
	c.source(store.Secret).Add(secret.DeepCopy())
	_, events := watching(t, c)
	await(t, events, "the Gateway")
	await(t, events, "the Secret")

	step := func(do func(), setServedVersion string) {
		t.Helper()
		do()
		next(t, events, setServedVersion)
	}
	// The source keeps and modifies what it is given, so it gets copies.
	step(func() {
		gateway.Generation = 2
		c.source(store.Gateway).Modify(gateway.DeepCopy())
	}, "Gateway infra/gw changed")
	step(func() {
		gateway.Status.Conditions = []metav1.Condition{{Type: "Accepted"}}
		c.source(store.Gateway).Modify(gateway.DeepCopy())
	}, "Gateway infra/gw status only")
	step(func() { c.source(store.Gateway).Delete(gateway.DeepCopy()) }, "Gateway infra/gw gone")
	step(func() {
		// The label does not count, so the next event is the deletion.
		secret.Labels = map[string]string{"a": "b"}
		c.source(store.Secret).Modify(secret.DeepCopy())
		c.source(store.Secret).Delete(secret.DeepCopy())
	}, "Secret infra/cert gone")
}

func spell(e Event) string {
	word := "changed"
	switch {
	case e.Object == nil:
		word = "gone"
	case e.StatusOnly:
		word = "status only"
	}
	return fmt.Sprintf("%s %s %s", e.Kind, e.Key, word)
}

func TestADeletionThatTheWatchMissedIsPassed(t *testing.T) {
	t.Parallel()
	var got []string
	handler := kindNamed(t, store.HTTPRoute).handler(func(e Event) { got = append(got, spell(e)) })
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "default/r", Obj: &gwv1.HTTPRoute{}})
	if diff := cmp.Diff([]string{"HTTPRoute default/r gone"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestStartNamesTheKindThatCannotBeWatched(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.refuse = errors.New("connection refused")
	err := New(c, slog.New(slog.DiscardHandler), func(Event) {}).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "Namespace") {
		t.Errorf("got %v, want it to name the kind and to say why", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := New(newCluster(t), slog.New(slog.DiscardHandler), func(Event) {}).Start(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "Gateway") {
		t.Errorf("got %v, want it to name the kinds that were not read", err)
	}
}

func clone(t *testing.T, object client.Object) client.Object {
	t.Helper()
	copied, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", object)
	}
	return copied
}

func kindNamed(t *testing.T, name store.Kind) watched {
	t.Helper()
	d, ok := store.DescriptorOf(name)
	if !ok {
		t.Fatalf("%s is not watched", name)
	}
	return watched{d}
}
