package watch

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

// Event is a change as an informer saw it.
type Event struct {
	store.Change
	// StatusOnly says that nothing changed that is read, so the change need not go into the store: whoever keeps the object's status looks again.
	StatusOnly bool
}

// Start passes every object of every kind in [Kinds] to the sink, then each change. It returns when the sink has returned from all that existed
// at the start, and goes on passing changes for as long as the cache runs. The cache must be running, or be started by somebody else.
//
// Changes of one kind come one after the other and in order; those of different kinds come from different goroutines.
func Start(ctx context.Context, informers cache.Informers, sink func(Event)) error {
	synced := make(map[store.Kind]toolscache.DoneChecker, len(Kinds))
	for _, kind := range Kinds {
		registration, err := kind.register(ctx, informers, sink)
		if err != nil {
			return err
		}
		synced[kind.Name] = registration.HasSyncedChecker()
	}
	var missing []string
	for _, kind := range Kinds {
		if !toolscache.WaitFor(ctx, "", synced[kind.Name]) {
			missing = append(missing, string(kind.Name))
		}
	}
	if missing != nil {
		return fmt.Errorf("stopped before these kinds were read completely: %s: %w", strings.Join(missing, ", "), context.Cause(ctx))
	}
	return nil
}

func (k Kind) register(ctx context.Context, informers cache.Informers, sink func(Event)) (toolscache.ResourceEventHandlerRegistration, error) {
	informer, err := informers.GetInformer(ctx, k.Object, cache.BlockUntilSynced(false))
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster does not serve %s: install the CRDs of Gateway API v1.7 or newer, standard channel, and start again: %w", k.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", k.Name, err)
	}
	// Changes are not repeated from time to time: everything that depends on one is computed from a store that does not forget.
	registration, err := informer.AddEventHandlerWithResyncPeriod(k.handler(sink), 0)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", k.Name, err)
	}
	return registration, nil
}

func (k Kind) handler(sink func(Event)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if object, ok := added.(client.Object); ok {
				sink(Event{Change: k.change(object)})
			}
		},
		UpdateFunc: func(previous, updated any) {
			before, fine := previous.(client.Object)
			after, good := updated.(client.Object)
			if !fine || !good {
				return
			}
			changed := k.Changed(before, after)
			if changed || k.ReportsStatus {
				sink(Event{Change: k.change(after), StatusOnly: !changed})
			}
		},
		DeleteFunc: func(deleted any) {
			switch last := deleted.(type) {
			case toolscache.DeletedFinalStateUnknown:
				// The watch missed the deletion; the informer's keys are the store's.
				sink(Event{Change: store.Change{Kind: k.Name, Key: last.Key}})
			case client.Object:
				sink(Event{Change: store.Change{Kind: k.Name, Key: store.KeyOf(last)}})
			}
		},
	}
}

func (k Kind) change(object client.Object) store.Change {
	return store.Change{Kind: k.Name, Key: store.KeyOf(object), Object: object}
}
