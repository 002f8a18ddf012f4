package watch

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

// Event is a change as an informer saw it.
type Event struct {
	store.Change
	// StatusOnly is true if nothing changed that is read. The change need not go into the store: only the status writer needs it.
	StatusOnly bool
}

// watched is a kind that is watched.
type watched struct{ *store.Descriptor }

// Watcher follows every kind in [store.Kinds]: those of Kubernetes itself always, the others for as long as the cluster serves them.
type Watcher struct {
	informers cache.Informers
	log       *slog.Logger
	sink      func(Event)
	// watchers has one for each kind that a CustomResourceDefinition defines, by the name of that definition.
	watchers map[string]*kindWatcher
	// optional has one for each kind of Kubernetes itself that may not be served.
	optional []*kindWatcher
	// startTimeout is for how long the start waits for each kind that is watched on demand.
	startTimeout time.Duration
}

// demandTimeout is much longer than it takes to read all nodes, and short for a start.
const demandTimeout = 10 * time.Second

// New returns a Watcher of a cache, which must be running, or be started by the caller. Changes of one kind reach the sink one after
// the other and in order; those of different kinds come from different goroutines.
func New(informers cache.Informers, log *slog.Logger, sink func(Event)) *Watcher {
	w := &Watcher{informers: informers, log: log, sink: sink, watchers: map[string]*kindWatcher{}, startTimeout: demandTimeout}
	for _, kind := range store.Kinds {
		if kind.Served == store.Always {
			continue
		}
		f := newKindWatcher(watched{kind}, informers, log, sink)
		if kind.Served == store.ByDefinition {
			w.watchers[kind.Definition()] = f
		} else {
			w.optional = append(w.optional, f)
		}
	}
	return w
}

// Start passes every object to the sink, then each change. It returns when the sink has returned from all that existed at the start, which
// includes waiting for the kinds without which nothing can be served, and goes on passing changes until the context ends.
func (w *Watcher) Start(ctx context.Context) error {
	synced, err := w.listen(ctx)
	if err != nil {
		return err
	}
	for _, f := range w.optional {
		if f.kind.NeededBy != nil {
			continue
		}
		if err := f.probe(ctx); err != nil {
			return err
		}
	}
	// Once the definitions are known, each kind knows whether it is served.
	missing := unfinished(ctx, store.CustomResourceDefinition, synced)
	for _, f := range w.inOrder() {
		f.report()
		go f.follow(ctx)
	}
	for _, kind := range store.Kinds {
		if _, ok := synced[kind.Kind]; ok {
			missing = append(missing, unfinished(ctx, kind.Kind, synced)...)
		}
	}
	for _, f := range w.inOrder() {
		if !w.waitSynced(ctx, f) {
			missing = append(missing, string(f.kind.Kind))
		}
	}
	if missing != nil {
		return fmt.Errorf("stopped before these kinds were read completely: %s: %w", strings.Join(missing, ", "), context.Cause(ctx))
	}
	return nil
}

// waitSynced waits for a kind. One that is watched on demand has little time: it may be that we have no right to read it, and nothing
// but what asked for it needs it.
func (w *Watcher) waitSynced(ctx context.Context, f *kindWatcher) bool {
	if f.kind.NeededBy == nil {
		return f.waitSynced(ctx)
	}
	brief, cancel := context.WithTimeout(ctx, w.startTimeout)
	defer cancel()
	if f.waitSynced(brief) {
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	f.log.Warn("a kind is not read yet, going on without it; see whether Gatewright has the right to list and to watch it",
		"resource", f.kind.Definition(), "waited", w.startTimeout)
	return true
}

// listen begins to watch the kinds that every cluster has.
func (w *Watcher) listen(ctx context.Context) (map[store.Kind]toolscache.DoneChecker, error) {
	synced := map[store.Kind]toolscache.DoneChecker{}
	for _, d := range store.Kinds {
		if d.Served != store.Always {
			continue
		}
		kind, sink := watched{d}, w.demanding(w.sink)
		if kind.Kind == store.CustomResourceDefinition {
			sink = w.onCRD
		}
		informer, err := kind.informer(ctx, w.informers, kind.Object)
		if err != nil {
			return nil, err
		}
		registration, err := kind.listen(informer, sink)
		if err != nil {
			return nil, err
		}
		synced[kind.Kind] = registration.HasSyncedChecker()
	}
	return synced, nil
}

// Missing lists the kinds that the cluster does not serve and without which nothing can be.
func (w *Watcher) Missing() []store.Kind {
	var missing []store.Kind
	for _, f := range w.inOrder() {
		if f.kind.Required && f.served() == "" {
			missing = append(missing, f.kind.Kind)
		}
	}
	return missing
}

// onCRD takes an event of a definition. Only those of the Gateway API are evaluated by others; ours are looked at here, and those of other
// APIs are of no interest.
func (w *Watcher) onCRD(e Event) {
	definition, _ := e.Object.(*apiextensionsv1.CustomResourceDefinition)
	f, known := w.watchers[e.Key]
	if (definition == nil || ofGatewayAPI(definition)) && (!known || f.kind.OfGatewayAPI()) {
		w.sink(e)
	}
	if known {
		f.setServedVersion(f.kind.ServedVersion(definition))
	}
}

func (w *Watcher) inOrder() []*kindWatcher {
	watchers := make([]*kindWatcher, 0, len(w.watchers))
	for _, custom := range store.CRDKinds {
		if f, ok := w.watchers[custom.Definition()]; ok {
			watchers = append(watchers, f)
		}
	}
	return append(watchers, w.optional...)
}

func unfinished(ctx context.Context, kind store.Kind, synced map[store.Kind]toolscache.DoneChecker) []string {
	done := synced[kind]
	delete(synced, kind)
	if toolscache.WaitFor(ctx, "", done) {
		return nil
	}
	return []string{string(kind)}
}

// informer finds the informer for an object: of the kind's own type, or the same in another version, without a type.
func (k watched) informer(ctx context.Context, informers cache.Informers, object client.Object) (cache.Informer, error) {
	informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", k.Kind, err)
	}
	return informer, nil
}

// listen passes what an informer sees to the sink.
func (k watched) listen(informer cache.Informer, sink func(Event)) (toolscache.ResourceEventHandlerRegistration, error) {
	// Changes are not repeated from time to time: everything that depends on one is computed from a store that does not forget.
	registration, err := informer.AddEventHandlerWithResyncPeriod(k.handler(sink), 0)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", k.Kind, err)
	}
	return registration, nil
}

func (k watched) handler(sink func(Event)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if object, ok := added.(client.Object); ok {
				k.pass(sink, object, false)
			}
		},
		UpdateFunc: func(previous, updated any) {
			before, fine := previous.(client.Object)
			after, good := updated.(client.Object)
			if !fine || !good {
				return
			}
			changed := k.Changed(before, after)
			if changed || k.Status != nil {
				k.pass(sink, after, !changed)
			}
		},
		DeleteFunc: func(deleted any) {
			switch last := deleted.(type) {
			case toolscache.DeletedFinalStateUnknown:
				// The watch missed the deletion; the informer's keys are the store's.
				sink(Event{Change: store.Change{Kind: k.Kind, Key: last.Key}})
			case client.Object:
				sink(Event{Change: store.Change{Kind: k.Kind, Key: store.KeyOf(last)}})
			}
		},
	}
}

func (k watched) pass(sink func(Event), object client.Object, statusOnly bool) {
	typed, err := k.typed(object)
	if err != nil || store.Unreadable(object) != "" && !k.PassUnreadable {
		// An object that cannot be read is none.
		sink(Event{Change: store.Change{Kind: k.Kind, Key: store.KeyOf(object)}})
		return
	}
	sink(Event{Change: store.Change{Kind: k.Kind, Key: store.KeyOf(object), Object: typed}, StatusOnly: statusOnly})
}
