package watch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

// retryPause is how long a kind waits that could not be watched, because the API server announces a definition before it serves it.
const retryPause = time.Second

// kindWatcher passes on the objects of one kind while the cluster serves it, in any version.
type kindWatcher struct {
	kind      watched
	informers cache.Informers
	log       *slog.Logger
	sink      func(Event)
	wake      chan struct{}

	mu sync.Mutex
	// wanted is the version that the cluster serves, and empty when it serves none.
	wanted string
	// current is where objects come from, and nil when there is nothing to come.
	current *run
	// keys is the informer that last saw each object.
	keys map[string]*run
	// changed is closed, and made anew, when anything of the above changes.
	changed chan struct{}
}

// run is one informer of a kindWatcher.
type run struct {
	// object identifies the informer.
	object client.Object
	cancel context.CancelFunc
	// version is what it reads; synced is true once it has read everything.
	version string
	synced  bool
}

func newKindWatcher(kind watched, informers cache.Informers, log *slog.Logger, sink func(Event)) *kindWatcher {
	return &kindWatcher{
		kind: kind, informers: informers, log: log.With("kind", string(kind.Kind)), sink: sink,
		wake: make(chan struct{}, 1), keys: map[string]*run{}, changed: make(chan struct{}),
	}
}

// setServedVersion sets the version that the cluster serves now; empty means none.
func (f *kindWatcher) setServedVersion(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = version
	f.broadcast()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// served is the version that the cluster serves.
func (f *kindWatcher) served() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wanted
}

// report logs a kind that the cluster does not serve at the start.
func (f *kindWatcher) report() {
	switch {
	case f.served() != "", f.kind.NeededBy != nil:
	case f.kind.Required:
		f.log.Warn("the cluster does not serve a kind without which nothing can be done, waiting for it; install the CRDs of the Gateway API",
			"definition", f.kind.Definition())
	case f.kind.Served == store.BySomeClusters:
		f.log.Info("the cluster does not serve a kind, it is looked for at the next start", "resource", f.kind.Definition())
	default:
		f.log.Info("the cluster does not serve a kind, it is watched when its definition appears", "definition", f.kind.Definition())
	}
}

// follow watches what the cluster serves, until the context ends.
func (f *kindWatcher) follow(ctx context.Context) {
	for {
		var retry <-chan time.Time
		if err := f.adjust(ctx); err != nil {
			level := slog.LevelWarn
			if meta.IsNoMatchError(err) {
				// The API server will serve it in a moment.
				level = slog.LevelDebug
			}
			f.log.Log(ctx, level, "kind not watched yet, trying again", "error", err)
			retry = time.After(retryPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-retry:
		}
	}
}

// adjust makes the informer that runs the one that is wanted.
func (f *kindWatcher) adjust(ctx context.Context) error {
	f.mu.Lock()
	wanted, previous := f.wanted, f.current
	f.mu.Unlock()
	switch {
	case previous == nil && wanted == "", previous != nil && previous.version == wanted:
		return nil
	case wanted == "":
		f.drop()
		f.end(ctx, previous)
		f.log.Info("the cluster no longer serves a kind, its objects are gone")
		return nil
	}
	if err := f.begin(ctx, wanted); err != nil {
		return err
	}
	f.log.Info("kind watched", "version", wanted)
	return nil
}

// begin reads a version. What came from another stays until everything has been read, so that an upgrade takes nothing away.
func (f *kindWatcher) begin(ctx context.Context, version string) error {
	next := &run{version: version, object: f.kind.inVersion(version)}
	informer, err := f.kind.informer(ctx, f.informers, next.object)
	if err != nil {
		return err
	}
	ctx, next.cancel = context.WithCancel(ctx)
	f.mu.Lock()
	previous := f.current
	f.current = next
	f.broadcast()
	f.mu.Unlock()
	f.end(ctx, previous)
	registration, err := f.kind.listen(informer, func(e Event) { f.pass(next, e) })
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		next.version = "" // which is never wanted, so that it is replaced
		return err
	}
	go func() {
		if toolscache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
			f.finish(next)
		}
	}()
	return nil
}

// finish deletes the objects of an earlier version that are not in this one.
func (f *kindWatcher) finish(r *run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != r {
		return
	}
	f.sweep(func(seen *run) bool { return seen != r })
	r.synced = true
	f.broadcast()
}

// drop deletes all objects.
func (f *kindWatcher) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = nil
	f.sweep(func(*run) bool { return true })
	f.broadcast()
}

func (f *kindWatcher) sweep(gone func(seen *run) bool) {
	for _, key := range slices.Sorted(maps.Keys(f.keys)) {
		if gone(f.keys[key]) {
			delete(f.keys, key)
			f.sink(Event{Change: store.Change{Kind: f.kind.Kind, Key: key}})
		}
	}
}

// end stops an informer. Its later events are dropped.
func (f *kindWatcher) end(ctx context.Context, r *run) {
	if r == nil {
		return
	}
	r.cancel()
	if err := f.informers.RemoveInformer(ctx, r.object); err != nil {
		f.log.Warn("informer not removed", "error", err)
	}
}

// pass hands on an event of the informer that counts.
func (f *kindWatcher) pass(r *run, e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != r {
		return
	}
	if e.Object == nil {
		delete(f.keys, e.Key)
	} else {
		f.keys[e.Key] = r
	}
	f.sink(e)
}

// waitSynced waits until everything that is served has been passed on, and until it is served when nothing can be done without it.
func (f *kindWatcher) waitSynced(ctx context.Context) bool {
	for {
		f.mu.Lock()
		done := f.wanted == "" && f.current == nil && !f.kind.Required ||
			f.current != nil && f.current.version == f.wanted && f.current.synced
		changed := f.changed
		f.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// broadcast wakes the goroutines that wait for a change. The lock is held.
func (f *kindWatcher) broadcast() {
	close(f.changed)
	f.changed = make(chan struct{})
}
