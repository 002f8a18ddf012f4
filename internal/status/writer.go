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
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	defaultWorkers = 8
	// A conflict is over as soon as the cache has caught up, which takes milliseconds; a broken API server takes longer.
	firstRetry, lastRetry = 25 * time.Millisecond, time.Minute
	// patience is how often a cache older than our last write is waited for. A cluster restored from a backup never catches up.
	patience = 8
	// What somebody else changed is repaired after a pause that doubles with each repair of the object, so that two controllers that disagree
	// do not race each other. It begins anew after a time without repairs.
	firstRepair, lastRepair = 100 * time.Millisecond, time.Minute
	repairQuiet             = 5 * time.Minute
)

// Options is what a [Writer] needs. All fields but Events, Instance and Workers are required.
type Options struct {
	// Reader reads from the informers' cache.
	Reader client.Reader
	// Client writes.
	Client client.StatusClient
	// Controller is the name that marks entries of a route's status as ours.
	Controller gwv1.GatewayController
	Log        *slog.Logger
	Metrics    prometheus.Registerer
	// Events makes events, in the name of Instance, about what a condition alone might leave unnoticed.
	Events   client.Writer
	Instance string
	// Workers is how many objects are written at the same time.
	Workers int
}

// Writer keeps the stored status of every object equal to its outcome, on the leader only. It holds one outcome and at most one place in
// the queue for each object, so its size is bounded by theirs. Keys are `namespace/name`, or the name alone. It may be used from any
// goroutine.
type Writer struct {
	reader  client.Reader
	client  client.StatusClient
	events  *announcer
	log     *slog.Logger
	metrics metrics
	workers int
	now     func() metav1.Time
	targets targets

	mu     sync.Mutex
	wishes map[item]*wish
	// queue is nil unless this replica leads.
	queue workqueue.TypedRateLimitingInterface[item]
}

type item struct {
	kind store.Kind
	key  string
}

// wish is the outcome an object's status should show.
type wish struct {
	write func(ctx context.Context, last string) (string, error)
	// farewell says that nothing of ours is left once it is written.
	farewell bool
	// last is the resource version of our last write of the object.
	last string
	// settled says that the status has shown it. Whatever is written after that is a repair.
	settled bool
	repairs repairs
	// reported keeps one failure from being logged at every attempt; only the worker that holds the item touches it.
	reported bool
}

// repairs is how long to wait before the next repair of an object, and when the last one was.
type repairs struct {
	pause time.Duration
	last  time.Time
}

func (r repairs) next() time.Duration {
	if time.Since(r.last) > repairQuiet {
		return firstRepair
	}
	return r.pause
}

func (r repairs) after() repairs {
	return repairs{pause: min(2*r.next(), lastRepair), last: time.Now()}
}

// attempt writes. One that panics has failed: what one object makes us do must not keep us from writing the others.
func (w *wish) attempt(ctx context.Context, last string) (version string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return w.write(ctx, last)
}

// NewWriter returns a Writer that remembers outcomes, and writes them once it is started.
func NewWriter(o Options) *Writer {
	w := &Writer{
		reader: o.Reader,
		client: o.Client,
		events: &announcer{
			client: o.Events, controller: o.Controller, instance: o.Instance, log: o.Log, waiting: map[item]*change{},
		},
		log:     o.Log,
		workers: cmp.Or(o.Workers, defaultWorkers),
		now:     func() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) },
		targets: targetsOf(store.Kinds, o.Controller),
		wishes:  map[item]*wish{},
	}
	w.metrics = newMetrics(o.Metrics, w.depth)
	return w
}

// SetClass says what became of a GatewayClass.
func (w *Writer) SetClass(key string, o outcome.Class) {
	w.set(item{store.GatewayClass, key}, false, func(ctx context.Context, last string) (string, error) {
		return w.targets.class(ctx, w, key, o, last)
	})
}

// SetGateway says what became of a Gateway.
func (w *Writer) SetGateway(key string, o outcome.Gateway) {
	w.set(item{store.Gateway, key}, false, func(ctx context.Context, last string) (string, error) {
		return w.targets.gateway(ctx, w, key, o, last)
	})
}

// SetListenerSet says what became of a ListenerSet.
func (w *Writer) SetListenerSet(key string, o outcome.ListenerSet) {
	w.set(item{store.ListenerSet, key}, false, func(ctx context.Context, last string) (string, error) {
		return w.targets.listenerSet(ctx, w, key, o, last)
	})
}

// WithdrawListenerSet says that a ListenerSet is no longer ours. If we said anything of it, that is replaced once and then left to others.
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
	_, ok := w.wishes[i]
	return ok
}

// SetRoute says what became of a route of any kind. One without parents loses what we wrote on it, and is then forgotten.
func (w *Writer) SetRoute(kind store.Kind, key string, o outcome.Route) {
	w.set(item{kind, key}, len(o.Parents) == 0, func(ctx context.Context, last string) (string, error) {
		return w.targets.routes[kind](ctx, w, key, o, last)
	})
}

// SetPolicy says what became of a policy. One without ancestors loses what we wrote on it, and is then forgotten.
func (w *Writer) SetPolicy(kind store.Kind, key string, o outcome.Policy) {
	w.set(item{kind, key}, len(o.Ancestors) == 0, func(ctx context.Context, last string) (string, error) {
		return w.targets.policies[kind](ctx, w, key, o, last)
	})
}

func (w *Writer) set(i item, farewell bool, write func(context.Context, string) (string, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := &wish{write: write, farewell: farewell}
	if previous, ok := w.wishes[i]; ok {
		next.last, next.repairs = previous.last, previous.repairs
	}
	w.wishes[i] = next
	if w.queue != nil {
		w.queue.Add(i)
	}
}

// Observed says that an object changed in any way, its status included: what others took away from our part of it is put back.
func (w *Writer) Observed(kind store.Kind, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := item{kind, key}
	if wanted, ok := w.wishes[i]; ok && w.queue != nil {
		w.queue.AddAfter(i, wanted.repairs.next())
	}
}

// Forget says that an object is gone, or that its status is no longer ours to write.
func (w *Writer) Forget(kind store.Kind, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wishes, item{kind, key})
}

// Start implements manager.Runnable: it writes every outcome known so far and each that comes, until the context ends.
func (w *Writer) Start(ctx context.Context) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](firstRetry, lastRetry))
	w.lead(queue)
	var workers sync.WaitGroup
	for range w.workers {
		workers.Go(func() { w.work(ctx, queue) })
	}
	<-ctx.Done()
	w.follow()
	queue.ShutDown()
	workers.Wait()
	w.events.flush()
	return nil
}

func (w *Writer) lead(queue workqueue.TypedRateLimitingInterface[item]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	// The few that many wait for come first.
	for _, i := range slices.SortedFunc(maps.Keys(w.wishes), inOrder) {
		queue.Add(i)
	}
}

// inOrder compares by the order of [store.Kinds].
func inOrder(a, b item) int {
	place := func(i item) int {
		return slices.IndexFunc(store.Kinds, func(d *store.Descriptor) bool { return d.Kind == i.kind })
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.key, b.key))
}

func (w *Writer) follow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = nil
}

func (w *Writer) depth() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		return 0
	}
	return float64(w.queue.Len())
}

func (w *Writer) work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[item]) {
	for {
		i, done := queue.Get()
		if done {
			return
		}
		// A queue that is shut down still hands out what it holds.
		if ctx.Err() == nil {
			w.process(ctx, queue, i)
		}
		queue.Done(i)
	}
}

func (w *Writer) process(ctx context.Context, queue workqueue.TypedRateLimitingInterface[item], i item) {
	wanted, last := w.wish(i)
	if wanted == nil {
		queue.Forget(i)
		return
	}
	if queue.NumRequeues(i) >= patience {
		last = ""
	}
	version, err := wanted.attempt(ctx, last)
	switch {
	case err == nil:
		queue.Forget(i)
		w.settle(i, wanted, version)
	case apierrors.IsNotFound(err):
		// The outcome is kept until it is forgotten: an object deleted and made again may have an equal one, which is not set again.
		queue.Forget(i)
		w.settle(i, wanted, "")
	case ctx.Err() != nil:
		queue.Forget(i)
	default:
		w.failed(i, wanted, err)
		queue.AddRateLimited(i)
	}
}

func (w *Writer) wish(i item) (wanted *wish, last string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted, ok := w.wishes[i]
	if !ok {
		return nil, ""
	}
	return wanted, wanted.last
}

// settle remembers what was written and lets go of a route that is no longer ours, unless a newer outcome has come meanwhile.
func (w *Writer) settle(i item, written *wish, version string) {
	if version != "" {
		w.metrics.count(i.kind, resultWritten)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	current, ok := w.wishes[i]
	if ok && written.settled && version != "" {
		current.repairs = current.repairs.after()
	}
	written.settled = true
	switch {
	case !ok:
	case current == written && written.farewell:
		delete(w.wishes, i)
	case version != "":
		current.last = version
	}
}

func (w *Writer) failed(i item, wanted *wish, err error) {
	switch {
	case errors.Is(err, errStale):
	case apierrors.IsConflict(err):
		w.metrics.count(i.kind, resultConflict)
	default:
		w.metrics.count(i.kind, resultFailed)
		if !wanted.reported {
			wanted.reported = true
			w.log.Error("status not written, trying again", "kind", string(i.kind), "object", i.key, "error", err)
		}
	}
}
