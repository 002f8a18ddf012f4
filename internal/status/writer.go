package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/leaderqueue"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	defaultWorkers = 8
	// A conflict ends when the cache has caught up, within milliseconds. A broken API server takes longer.
	firstRetry, lastRetry = 25 * time.Millisecond, time.Minute
	// maxStaleReads is how often a write waits for a cache that is older than our last write. A cluster restored from a backup never
	// catches up.
	maxStaleReads = 8
	// A change by another controller is repaired after a pause that doubles with each repair of the object, so that two controllers that
	// disagree do not race each other. The pause starts over after a time without repairs.
	firstRepair, lastRepair = 100 * time.Millisecond, time.Minute
	repairReset             = 5 * time.Minute
)

// Options configures a [Writer]. All fields but Events, Instance and Workers are required.
type Options struct {
	// Reader reads from the informers' cache.
	Reader client.Reader
	// Client writes.
	Client client.StatusClient
	// Controller is the name that marks entries of a route's status as ours.
	Controller gwv1.GatewayController
	Log        *slog.Logger
	Metrics    prometheus.Registerer
	// Events creates events, reported by Instance, for changes that are easy to miss in a condition.
	Events   client.Writer
	Instance string
	// Workers is the number of objects that are written at the same time.
	Workers int
}

// Writer keeps the stored status of every object equal to its outcome, on the leader only. It holds one outcome and at most one queue
// entry for each object. Keys are `namespace/name`, or the name alone. It is safe for concurrent use.
type Writer struct {
	reader  client.Reader
	client  client.StatusClient
	events  *eventRecorder
	log     *slog.Logger
	metrics metrics
	queue   *leaderqueue.Queue[item]
	now     func() metav1.Time
	targets targets

	mu      sync.Mutex
	desired map[item]*desired
}

type item struct {
	kind store.Kind
	key  string
}

// desired is the outcome that the status of an object should show.
type desired struct {
	write func(ctx context.Context, last string) (string, error)
	// final reports that this is the last write: nothing of ours is left in the status after it.
	final bool
	// last is the resource version of our last write of the object.
	last string
	// written reports that the status has shown it. Every later write is a repair.
	written bool
	repairs repairs
	// logged prevents that each attempt logs the same failure. Only the worker that holds the item uses it.
	logged bool
}

// repairs is the pause before the next repair of an object, and the time of the last one.
type repairs struct {
	pause time.Duration
	last  time.Time
}

func (r repairs) next() time.Duration {
	if time.Since(r.last) > repairReset {
		return firstRepair
	}
	return r.pause
}

func (r repairs) after() repairs {
	return repairs{pause: min(2*r.next(), lastRepair), last: time.Now()}
}

// attempt writes. A panic is a failure of this object, and does not affect others.
func (d *desired) attempt(ctx context.Context, last string) (version string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return d.write(ctx, last)
}

// NewWriter returns a Writer that records outcomes, and writes them while it runs.
func NewWriter(o Options) *Writer {
	w := &Writer{
		reader: o.Reader,
		client: o.Client,
		events: &eventRecorder{
			client: o.Events, controller: o.Controller, instance: o.Instance, log: o.Log, waiting: map[item]*change{},
		},
		log:     o.Log,
		queue:   leaderqueue.New[item]("status", cmp.Or(o.Workers, defaultWorkers), o.Log).Retry(firstRetry, lastRetry),
		now:     func() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) },
		targets: targetsOf(store.Kinds, o.Controller),
		desired: map[item]*desired{},
	}
	w.metrics = newMetrics(o.Metrics, func() float64 { return float64(w.queue.Len()) })
	return w
}

// SetClass sets the outcome of a GatewayClass.
func (w *Writer) SetClass(key string, o outcome.Class) {
	w.set(item{store.GatewayClass, key}, false, func(ctx context.Context, last string) (string, error) {
		return w.targets.class(ctx, w, key, o, last)
	})
}

// SetGateway sets the outcome of a Gateway.
func (w *Writer) SetGateway(key string, o outcome.Gateway) {
	w.set(item{store.Gateway, key}, false, func(ctx context.Context, last string) (string, error) {
		return w.targets.gateway(ctx, w, key, o, last)
	})
}

// SetListenerSet sets the outcome of a ListenerSet.
func (w *Writer) SetListenerSet(key string, o outcome.ListenerSet) {
	w.set(item{store.ListenerSet, key}, false, func(ctx context.Context, last string) (string, error) {
		return w.targets.listenerSet(ctx, w, key, o, last)
	})
}

// WithdrawListenerSet sets the last outcome of a ListenerSet that is no longer ours. It is written once, if we have written one before.
func (w *Writer) WithdrawListenerSet(key string, o outcome.ListenerSet) {
	if !w.knows(item{store.ListenerSet, key}) {
		return
	}
	w.set(item{store.ListenerSet, key}, true, func(ctx context.Context, last string) (string, error) {
		return w.targets.listenerSet(ctx, w, key, o, last)
	})
}

func (w *Writer) knows(i item) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.desired[i]
	return ok
}

// SetRoute sets the outcome of a route of any kind. An outcome without parents removes our part of the status; the route is then forgotten.
func (w *Writer) SetRoute(kind store.Kind, key string, o outcome.Route) {
	w.set(item{kind, key}, len(o.Parents) == 0, func(ctx context.Context, last string) (string, error) {
		return w.targets.routes[kind](ctx, w, key, o, last)
	})
}

// SetPolicy sets the outcome of a policy. An outcome without ancestors removes our part of the status; the policy is then forgotten.
func (w *Writer) SetPolicy(kind store.Kind, key string, o outcome.Policy) {
	w.set(item{kind, key}, len(o.Ancestors)+len(o.Conditions) == 0, func(ctx context.Context, last string) (string, error) {
		return w.targets.policies[kind](ctx, w, key, o, last)
	})
}

func (w *Writer) set(i item, final bool, write func(context.Context, string) (string, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := &desired{write: write, final: final}
	if previous, ok := w.desired[i]; ok {
		next.last, next.repairs = previous.last, previous.repairs
	}
	w.desired[i] = next
	w.queue.Add(i)
}

// Observed reports that an object or its status changed. What others removed from our part of the status is restored.
func (w *Writer) Observed(kind store.Kind, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := item{kind, key}
	if wanted, ok := w.desired[i]; ok {
		w.queue.AddAfter(i, wanted.repairs.next())
	}
}

// Forget drops the outcome of an object that is gone, or whose status is no longer ours.
func (w *Writer) Forget(kind store.Kind, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.desired, item{kind, key})
}

// Start implements manager.Runnable: it writes all outcomes, those known so far and later ones, until the context ends.
func (w *Writer) Start(ctx context.Context) error {
	w.queue.Run(ctx, w.enqueueAll, w.process)
	w.events.flush()
	return nil
}

// enqueueAll enqueues all outcomes that are known. Objects that many others wait for come first.
func (w *Writer) enqueueAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range slices.SortedFunc(maps.Keys(w.desired), byPriority) {
		w.queue.Add(i)
	}
}

// byPriority compares by the order of [store.Kinds].
func byPriority(a, b item) int {
	place := func(i item) int {
		return slices.IndexFunc(store.Kinds, func(d *store.Descriptor) bool { return d.Kind == i.kind })
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.key, b.key))
}

// process writes the outcome of an object. It returns an error if the write is to be tried again.
func (w *Writer) process(ctx context.Context, i item) error {
	wanted, last := w.wanted(i)
	if wanted == nil {
		return nil
	}
	if w.queue.Failures(i) >= maxStaleReads {
		last = ""
	}
	version, err := wanted.attempt(ctx, last)
	switch {
	case err == nil:
		w.wrote(i, wanted, version)
	case apierrors.IsNotFound(err):
		// The outcome is kept until it is forgotten: an object that is deleted and created again may have an equal one, which is not set
		// again.
		w.wrote(i, wanted, "")
	case ctx.Err() == nil:
		w.failed(i, wanted, err)
		return err
	}
	return nil
}

func (w *Writer) wanted(i item) (wanted *desired, last string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted, ok := w.desired[i]
	if !ok {
		return nil, ""
	}
	return wanted, wanted.last
}

// wrote records the version that was written, empty if none was. It forgets an object after its final write, unless there is a newer
// outcome.
func (w *Writer) wrote(i item, wanted *desired, version string) {
	if version != "" {
		w.metrics.count(i.kind, resultWritten)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	current, ok := w.desired[i]
	if ok && wanted.written && version != "" {
		current.repairs = current.repairs.after()
	}
	wanted.written = true
	switch {
	case !ok:
	case current == wanted && wanted.final:
		delete(w.desired, i)
	case version != "":
		current.last = version
	}
}

func (w *Writer) failed(i item, wanted *desired, err error) {
	switch {
	case errors.Is(err, errStale):
	case apierrors.IsConflict(err):
		w.metrics.count(i.kind, resultConflict)
	default:
		w.metrics.count(i.kind, resultFailed)
		if !wanted.logged {
			wanted.logged = true
			w.log.Error("status not written, trying again", "kind", string(i.kind), "object", i.key, "error", err)
		}
	}
}
