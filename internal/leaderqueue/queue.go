package leaderqueue

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// A failure is retried with exponential backoff between these.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Queue holds the keys that the leader has to work on. No two workers work on one key at a time.
type Queue[K comparable] struct {
	name    string
	workers int
	log     *slog.Logger
	// firstRetry and lastRetry are the limits of the backoff.
	firstRetry, lastRetry time.Duration

	mu sync.Mutex
	// current is the queue of this run, nil if there is none.
	current workqueue.TypedRateLimitingInterface[K]
}

// New returns an empty queue. The name is for metrics, the log for panics.
func New[K comparable](name string, workers int, log *slog.Logger) *Queue[K] {
	return &Queue[K]{name: name, workers: workers, log: log, firstRetry: firstRetry, lastRetry: lastRetry}
}

// Retry sets the limits of the backoff after failures, and returns the queue. Call it before Run.
func (q *Queue[K]) Retry(first, last time.Duration) *Queue[K] {
	q.firstRetry, q.lastRetry = first, last
	return q
}

// Len returns the number of keys that wait for a worker.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current == nil {
		return 0
	}
	return q.current.Len()
}

// Failures returns how often a key has failed since it last succeeded.
func (q *Queue[K]) Failures(key K) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current == nil {
		return 0
	}
	return q.current.NumRequeues(key)
}

// Add queues a key if this replica leads: elsewhere the queue would only grow.
func (q *Queue[K]) Add(key K) { q.AddAfter(key, 0) }

// AddAfter queues a key after a pause.
func (q *Queue[K]) AddAfter(key K, pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current != nil {
		q.current.AddAfter(key, pause)
	}
}

// Running reports whether [Queue.Run] runs.
func (q *Queue[K]) Running() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.current != nil
}

// Run works on keys until the context ends, and can be called again after that. It calls begin before the workers start, to add the keys
// that exist by then. A key that fails is queued again.
func (q *Queue[K]) Run(ctx context.Context, begin func(), reconcile func(context.Context, K) error) {
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](q.firstRetry, q.lastRetry),
		workqueue.TypedRateLimitingQueueConfig[K]{Name: q.name},
	)
	q.set(queue)
	begin()
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	var group sync.WaitGroup
	for range q.workers {
		group.Go(func() { q.work(ctx, queue, reconcile) })
	}
	group.Wait()
	q.set(nil)
}

func (q *Queue[K]) set(queue workqueue.TypedRateLimitingInterface[K]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current = queue
}

func (q *Queue[K]) work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[K], reconcile func(context.Context, K) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		// A queue that is shut down still returns the keys that it holds.
		if ctx.Err() == nil {
			if err := q.attempt(ctx, key, reconcile); err != nil && ctx.Err() == nil {
				queue.AddRateLimited(key)
			} else {
				queue.Forget(key)
			}
		}
		queue.Done(key)
	}
}

// attempt works on one key. A panic counts as a failure, so that one object cannot block the others.
func (q *Queue[K]) attempt(ctx context.Context, key K, reconcile func(context.Context, K) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			q.log.ErrorContext(ctx, "internal error, trying again; this is a bug, please report it",
				"queue", q.name, "key", key, "reason", p, "stack", string(debug.Stack()))
		}
	}()
	return reconcile(ctx, key)
}

// RetryUntilSuccess calls try until it succeeds, with exponential backoff. It reports each failure, and returns false if the context ended
// first.
func RetryUntilSuccess(ctx context.Context, try func() error, failed func(error)) bool {
	for wait := firstRetry; ctx.Err() == nil; wait = min(2*wait, lastRetry) {
		err := try()
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return false
}
