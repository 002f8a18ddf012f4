package watch

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

// timeout keeps a test from waiting forever. No result depends on it.
const timeout = 2 * time.Minute

// cluster is a source of objects for real informers, one for each version of each kind.
type cluster struct {
	scheme *runtime.Scheme

	mu        sync.Mutex
	ctx       context.Context
	sources   map[schema.GroupVersionKind]*fcache.FakeControllerSource
	informers map[schema.GroupVersionKind]informer
	// refuse is the answer to a request to watch.
	refuse error
}

type informer struct {
	toolscache.SharedIndexInformer
	stop context.CancelFunc
}

var _ cache.Informers = (*cluster)(nil)

// newCluster serves every kind in its best version, except those left out.
func newCluster(t *testing.T, without ...store.Kind) *cluster {
	t.Helper()
	c := &cluster{
		scheme: newScheme(t), ctx: t.Context(),
		sources: map[schema.GroupVersionKind]*fcache.FakeControllerSource{}, informers: map[schema.GroupVersionKind]informer{},
	}
	for _, custom := range store.CRDKinds {
		if !slices.Contains(without, custom.Kind) {
			c.onCRD(custom.Kind, custom.Versions[0])
		}
	}
	return c
}

// onCRD makes the cluster serve a kind in a version, and in no other.
func (c *cluster) onCRD(kind store.Kind, version string) {
	c.definitions().Add(definition(kind, version))
}

func (c *cluster) undefine(kind store.Kind) { c.definitions().Delete(definition(kind, "")) }

func (c *cluster) definitions() *fcache.FakeControllerSource {
	return c.of(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
}

func definition(kind store.Kind, version string) *apiextensionsv1.CustomResourceDefinition {
	custom, _ := store.CustomOf(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: custom.Definition()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group:    custom.Group,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: version, Served: true}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}},
	}
}

// source is where the objects of a kind come from, in its own type.
func (c *cluster) source(kind store.Kind) *fcache.FakeControllerSource {
	for _, k := range store.Kinds {
		if k.Kind == kind {
			gvks, _, _ := c.scheme.ObjectKinds(k.Object)
			return c.of(gvks[0])
		}
	}
	panic("not watched: " + kind)
}

func (c *cluster) of(gvk schema.GroupVersionKind) *fcache.FakeControllerSource {
	c.mu.Lock()
	defer c.mu.Unlock()
	source, ok := c.sources[gvk]
	if !ok {
		source = fcache.NewFakeControllerSource()
		c.sources[gvk] = source
	}
	return source
}

func (c *cluster) gvk(object client.Object) schema.GroupVersionKind {
	if gvk := object.GetObjectKind().GroupVersionKind(); gvk.Kind != "" {
		return gvk
	}
	gvks, _, _ := c.scheme.ObjectKinds(object)
	return gvks[0]
}

func (c *cluster) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	gvk := c.gvk(object)
	source := c.of(gvk)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return nil, c.refuse
	}
	held, ok := c.informers[gvk]
	if !ok {
		ctx, stop := context.WithCancel(c.ctx) //nolint:gosec // called when the informer is removed; otherwise the test ends it
		held.stop = stop
		held.SharedIndexInformer = toolscache.NewSharedIndexInformer(source, object, 0, toolscache.Indexers{})
		c.informers[gvk] = held
		go held.RunWithContext(ctx)
	}
	return held.SharedIndexInformer, nil
}

func (c *cluster) RemoveInformer(_ context.Context, object client.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	gvk := c.gvk(object)
	c.informers[gvk].stop()
	delete(c.informers, gvk)
	return nil
}

func (*cluster) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	panic("not used")
}
func (*cluster) Start(context.Context) error           { panic("not used") }
func (*cluster) WaitForCacheSync(context.Context) bool { panic("not used") }
func (*cluster) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	panic("not used")
}

// watching starts a Watcher and returns it with its events, once everything has been read.
func watching(t *testing.T, c *cluster) (*Watcher, <-chan Event) {
	t.Helper()
	events := make(chan Event, 1000)
	w := New(c, slog.New(slog.DiscardHandler), func(e Event) {
		if e.Kind != store.CustomResourceDefinition {
			events <- e
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	if err := w.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return w, events
}
