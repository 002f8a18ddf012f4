package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// What failed is tried again after a time that doubles from the first of these to the second.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Tasks are those of one kind. No key is worked on by two workers at once.
type Tasks[K comparable] struct {
	name    string
	workers int
	log     *slog.Logger

	mu sync.Mutex
	// queue is that of this run, nil if there is none.
	queue workqueue.TypedRateLimitingInterface[K]
}

// New returns tasks without any. The name is for metrics, the log for panics.
func New[K comparable](name string, workers int, log *slog.Logger) *Tasks[K] {
	return &Tasks[K]{name: name, workers: workers, log: log}
}

// Add has a task done, if this replica leads: elsewhere the queue would only grow.
func (t *Tasks[K]) Add(key K) { t.AddAfter(key, 0) }

// AddAfter has a task done after a while.
func (t *Tasks[K]) AddAfter(key K, pause time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue != nil {
		t.queue.AddAfter(key, pause)
	}
}

// Running says whether tasks are being done.
func (t *Tasks[K]) Running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queue != nil
}

// Run does tasks until the context ends, and can be called again after that. The beginning is for adding what there is to do by then. A
// task that fails is done again.
func (t *Tasks[K]) Run(ctx context.Context, begin func(), do func(context.Context, K) error) {
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[K]{Name: t.name},
	)
	t.set(queue)
	begin()
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	var group sync.WaitGroup
	for range t.workers {
		group.Go(func() { t.work(ctx, queue, do) })
	}
	group.Wait()
	t.set(nil)
}

func (t *Tasks[K]) set(queue workqueue.TypedRateLimitingInterface[K]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = queue
}

func (t *Tasks[K]) work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[K], do func(context.Context, K) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		// A queue that is shut down still hands out what it holds.
		if ctx.Err() == nil {
			if err := t.attempt(ctx, key, do); err != nil && ctx.Err() == nil {
				queue.AddRateLimited(key)
			} else {
				queue.Forget(key)
			}
		}
		queue.Done(key)
	}
}

// attempt does a task. One that panics has failed: what one object makes us do must not keep us from doing the others.
func (t *Tasks[K]) attempt(ctx context.Context, key K, do func(context.Context, K) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			t.log.ErrorContext(ctx, "internal error, trying again; this is a bug, please report it",
				"tasks", t.name, "key", key, "reason", p, "stack", string(debug.Stack()))
		}
	}()
	return do(ctx, key)
}

// Insist tries until it succeeds, and says whether it did before the context ended. Failures are told.
func Insist(ctx context.Context, try func() error, failed func(error)) bool {
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
