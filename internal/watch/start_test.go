package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// cluster is a source of objects for real informers.
type cluster struct {
	informertest.FakeInformers
	sources map[store.Kind]*fcache.FakeControllerSource
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{sources: map[store.Kind]*fcache.FakeControllerSource{}}
	c.Scheme = newScheme(t)
	c.InformersByGVK = map[schema.GroupVersionKind]toolscache.SharedIndexInformer{}
	for _, kind := range Kinds {
		source := fcache.NewFakeControllerSource()
		c.sources[kind.Name] = source
		c.InformersByGVK[gvkOf(t, c.Scheme, kind.Object)] = toolscache.NewSharedIndexInformer(source, kind.Object, 0, toolscache.Indexers{})
	}
	return c
}

func (c *cluster) run(ctx context.Context) {
	for _, informer := range c.InformersByGVK {
		go informer.RunWithContext(ctx)
	}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), gwv1.Install(scheme)); err != nil {
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
	for _, kind := range Kinds {
		if kind.Object == object {
			return kind.Name
		}
	}
	t.Fatalf("%T is not watched", object)
	return ""
}

func TestKindsAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	scheme := newScheme(t)
	objects := store.NewObjects(store.New())
	for _, kind := range Kinds {
		if got := gvkOf(t, scheme, kind.Object).Kind; got != string(kind.Name) {
			t.Errorf("%s is watched as %s", kind.Name, got)
		}
		// It panics when the store takes another type for this kind, or does not know it.
		objects.Apply(store.Change{Kind: kind.Name, Key: "x", Object: kind.Object})
	}
}

func TestStartReturnsAfterTheSinkHasSeenEverything(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const each = 50
	for _, kind := range Kinds {
		for i := range each {
			object := clone(t, kind.Object)
			object.SetName(fmt.Sprintf("object-%d", i))
			c.sources[kind.Name].Add(object)
		}
	}
	c.run(t.Context())
	var seen atomic.Int32
	err := Start(t.Context(), c, func(Event) {
		<-time.After(time.Millisecond) // a sink that takes its time
		seen.Add(1)
	})
	if got, want := int(seen.Load()), each*len(Kinds); err != nil || got != want {
		t.Errorf("the sink had seen %d of %d objects; error: %v", got, want, err)
	}
}

func TestStartPassesChanges(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw", Generation: 1}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "cert"}}
	c.sources[store.Gateway].Add(gateway.DeepCopy())
	c.sources[store.Secret].Add(secret.DeepCopy())
	c.run(t.Context())
	events := make(chan Event, 10)
	if err := Start(t.Context(), c, func(e Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	<-events
	<-events

	step := func(do func(), want string) {
		t.Helper()
		do()
		if diff := cmp.Diff(want, spell(<-events)); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	}
	// The source keeps and modifies what it is given, so it gets copies.
	step(func() {
		gateway.Generation = 2
		c.sources[store.Gateway].Modify(gateway.DeepCopy())
	}, "Gateway infra/gw changed")
	step(func() {
		gateway.Status.Conditions = []metav1.Condition{{Type: "Accepted"}}
		c.sources[store.Gateway].Modify(gateway.DeepCopy())
	}, "Gateway infra/gw status only")
	step(func() { c.sources[store.Gateway].Delete(gateway.DeepCopy()) }, "Gateway infra/gw gone")
	step(func() {
		// The label does not count, so the next event is the deletion.
		secret.Labels = map[string]string{"a": "b"}
		c.sources[store.Secret].Modify(secret.DeepCopy())
		c.sources[store.Secret].Delete(secret.DeepCopy())
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

func TestStartNamesTheKindThatIsMissing(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"a CRD that is not installed", &meta.NoKindMatchError{}, "install the CRDs"},
		{"another failure", errors.New("connection refused"), "connection refused"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := Start(t.Context(), &informertest.FakeInformers{Scheme: newScheme(t), Error: c.err}, func(Event) {})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "GatewayClass") {
				t.Errorf("got %v, want it to name the kind and to say %q", err, c.want)
			}
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Start(ctx, newCluster(t), func(Event) {})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "EndpointSlice") {
		t.Errorf("got %v, want it to name the kinds that were not read", err)
	}
}
