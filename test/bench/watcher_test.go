//go:build bench

package bench

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// watcher is a bare informer: it sees what any controller can see, as early as any controller can see it.
type watcher struct {
	mu sync.Mutex
	// ours are the namespaces in which writes are counted.
	ours         map[string]bool
	statusWrites map[string]int
	attached     map[string]int32
	// answered are the routes that have a status.
	answered map[string]bool
	expected map[*expected]bool
	// known are the objects as they were seen last. Informers that take events in batches may tell of an update as if the object were new.
	known map[types.UID]known
}

type known struct {
	version    string
	generation int64
}

type expected struct {
	match func(client.Object) bool
	at    chan time.Time
}

func newWatcher(t *testing.T, w *live.Fixture) *watcher {
	t.Helper()
	connection := config.GetConfigOrDie()
	connection.QPS = -1
	informers, err := cache.New(connection, cache.Options{Scheme: w.Scheme()})
	if err != nil {
		t.Fatalf("make a cache: %v", err)
	}
	seen := &watcher{
		ours: map[string]bool{}, statusWrites: map[string]int{}, attached: map[string]int32{}, answered: map[string]bool{},
		expected: map[*expected]bool{}, known: map[types.UID]known{},
	}
	for _, kind := range []client.Object{&gwv1.HTTPRoute{}, &gwv1.Gateway{}, &discoveryv1.EndpointSlice{}} {
		informer, err := informers.GetInformer(t.Context(), kind, cache.BlockUntilSynced(false))
		if err != nil {
			t.Fatalf("watch %T: %v", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: seen.seen, UpdateFunc: func(_, o any) { seen.seen(o) },
		}); err != nil {
			t.Fatalf("watch %T: %v", kind, err)
		}
	}
	go func() { _ = informers.Start(t.Context()) }()
	if !informers.WaitForCacheSync(t.Context()) {
		t.Fatal("the informers do not synchronise")
	}
	return seen
}

func (w *watcher) seen(o any) {
	now := time.Now()
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.expected {
		if e.match(object) {
			e.at <- now
			delete(w.expected, e)
		}
	}
	if !w.ours[object.GetNamespace()] {
		return
	}
	switch o := object.(type) {
	case *gwv1.Gateway:
		if len(o.Status.Listeners) > 0 {
			w.attached[o.Namespace] = o.Status.Listeners[0].AttachedRoutes
		}
	case *gwv1.HTTPRoute:
		w.answered[o.Namespace+"/"+o.Name] = len(o.Status.Parents) > 0
	}
	// What changes an object but not its generation changes its status, or its metadata, which does not happen here.
	is := known{object.GetResourceVersion(), object.GetGeneration()}
	was, ok := w.known[object.GetUID()]
	w.known[object.GetUID()] = is
	if ok && was.version != is.version && was.generation == is.generation {
		w.statusWrites[reflect.TypeOf(object).Elem().Name()]++
	}
}

// own makes the writes in a namespace count.
func (w *watcher) own(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ours[namespace] = true
}

// expect returns when an object is seen for the first time from now on.
func (w *watcher) expect(match func(client.Object) bool) <-chan time.Time {
	e := &expected{match, make(chan time.Time, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected[e] = true
	return e.at
}

// measure says how long it takes from a write until it is seen.
func (w *watcher) measure(t *testing.T, match func(client.Object) bool, write func() error) time.Duration {
	t.Helper()
	seen := w.expect(match)
	start := time.Now()
	if err := write(); err != nil {
		t.Fatal(err)
	}
	select {
	case at := <-seen:
		return at.Sub(start)
	case <-time.After(probeTimeout):
		t.Fatalf("the informer has not seen a write within %s", probeTimeout)
		return 0
	}
}

// writes counts the writes of status so far, by kind.
func (w *watcher) writes(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.statusWrites[kind]
}

// unanswered counts the routes that have no status.
func (w *watcher) unanswered(routes []string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, key := range routes {
		if !w.answered[key] {
			n++
		}
	}
	return n
}

// attachedRight says what is wrong with the number of routes that Gateways say to have.
func (w *watcher) attachedRight(want map[string]int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for namespace, n := range want {
		if got := int(w.attached[namespace]); got != n {
			return fmt.Errorf("the Gateway in %s has %d routes of %d", namespace, got, n)
		}
	}
	return nil
}
