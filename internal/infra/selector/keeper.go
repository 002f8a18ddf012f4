package selector

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/ir"
)

// What failed is tried again after a time that doubles from the first of these to the second.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Config is what a [Keeper] works with. All fields are needed.
type Config struct {
	Client client.Client
	// Reader must not be a cache: one that has not seen a Service yet would have it made twice.
	Reader client.Reader
	Log    *slog.Logger
}

// Keeper keeps a Service for every selector that is wanted. What is wanted may be said at any time and on every replica; it is done while
// Start runs.
type Keeper struct {
	Config
	// queue is that of this start.
	queue workqueue.TypedRateLimitingInterface[ir.Name]

	mu      sync.Mutex
	started bool
	// wanted has every XBackend that exists.
	wanted map[ir.Name]wish
	// made is which XBackend each Service is for, and has counts the Services of each.
	made map[client.ObjectKey]ir.Name
	has  map[ir.Name]int
}

// wish is what is wanted of one XBackend.
type wish struct {
	uid string
	// selector is nil where no endpoints are needed.
	selector *ir.Selector
}

// New makes a keeper to which nothing has been said yet.
func New(config Config) *Keeper {
	return &Keeper{
		Config: config,
		wanted: map[ir.Name]wish{},
		made:   map[client.ObjectKey]ir.Name{},
		has:    map[ir.Name]int{},
	}
}

// Set says which endpoints an XBackend chooses.
func (k *Keeper) Set(s ir.Selector) { k.want(s.Backend, wish{uid: s.UID, selector: &s}) }

// Release says that an XBackend exists and nobody needs its endpoints.
func (k *Keeper) Release(backend ir.Name, uid string) { k.want(backend, wish{uid: uid}) }

func (k *Keeper) want(backend ir.Name, w wish) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted[backend] = w
	k.enqueue(backend)
}

// Delete forgets an XBackend that is gone. Its Service leaves with it, for it owns it.
func (k *Keeper) Delete(backend ir.Name) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.wanted, backend)
}

// Observed says that a Service came, changed or, if it is gone, went; one that was made here is looked at again.
func (k *Keeper) Observed(namespace, name string, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := client.ObjectKey{Namespace: namespace, Name: name}
	backend, ok := k.made[key]
	if !ok {
		return
	}
	if gone {
		k.forget(key)
	}
	k.enqueue(backend)
}

// Start works until the context ends, and can be started again. It begins with the Services that an earlier leader made.
func (k *Keeper) Start(ctx context.Context) error {
	if !k.takeStock(ctx) {
		return nil
	}
	k.begin()
	defer k.finish()
	stop := context.AfterFunc(ctx, k.queue.ShutDown)
	defer stop()
	for {
		backend, shutdown := k.queue.Get()
		if shutdown {
			return nil
		}
		k.serve(ctx, backend)
		k.queue.Done(backend)
	}
}

func (k *Keeper) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[ir.Name](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[ir.Name]{Name: "selectors"},
	)
	k.started = true
	for backend := range k.wanted {
		k.enqueue(backend)
	}
}

func (k *Keeper) finish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.started = false
}

// takeStock finds the Services that were made before, trying until it has succeeded or the context ends.
func (k *Keeper) takeStock(ctx context.Context) bool {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		var services corev1.ServiceList
		err := k.Reader.List(ctx, &services, client.HasLabels{Label})
		if err == nil {
			k.remember(services.Items)
			return true
		}
		if ctx.Err() == nil {
			k.Log.Error("services of xbackends can not be listed, trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

func (k *Keeper) remember(services []corev1.Service) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range services {
		key := client.ObjectKeyFromObject(&services[i])
		if owner, ok := ownerOf(&services[i]); ok && k.made[key] != owner {
			k.forget(key)
			k.made[key] = owner
			k.has[owner]++
		}
	}
}

// forget is called with the keeper locked.
func (k *Keeper) forget(key client.ObjectKey) {
	owner, ok := k.made[key]
	if !ok {
		return
	}
	delete(k.made, key)
	if k.has[owner]--; k.has[owner] == 0 {
		delete(k.has, owner)
	}
}

// enqueue does nothing on a replica that does not lead, where the queue would only grow.
func (k *Keeper) enqueue(backend ir.Name) {
	if k.started {
		k.queue.Add(backend)
	}
}

func (k *Keeper) serve(ctx context.Context, backend ir.Name) {
	k.mu.Lock()
	w, exists := k.wanted[backend]
	idle := w.selector == nil && k.has[backend] == 0
	k.mu.Unlock()
	if !exists || idle {
		return
	}
	err := k.bring(ctx, backend, w)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		k.Log.Error("service of an xbackend not made, trying again", "xbackend", backend.String(), "error", err)
		k.queue.AddRateLimited(backend)
	default:
		k.queue.Forget(backend)
	}
}

// bring makes the Service, corrects it, or removes it. Of several, as two leaders in a row could make, the first by name stays.
func (k *Keeper) bring(ctx context.Context, backend ir.Name, w wish) error {
	var found corev1.ServiceList
	if err := k.Reader.List(ctx, &found, client.InNamespace(backend.Namespace), client.MatchingLabels{Label: w.uid}); err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	kept := false
	for i := range found.Items {
		service := &found.Items[i]
		if owner, ok := ownerOf(service); !ok || owner != backend {
			continue
		}
		if w.selector == nil || kept {
			if err := k.remove(ctx, service); err != nil {
				return err
			}
			continue
		}
		kept = true
		if err := k.correct(ctx, service, *w.selector); err != nil {
			return err
		}
		k.remember(found.Items[i : i+1])
	}
	if w.selector == nil || kept {
		return nil
	}
	service := Render(*w.selector)
	if err := k.Client.Create(ctx, service); err != nil {
		return fmt.Errorf("creating a Service: %w", err)
	}
	k.remember([]corev1.Service{*service})
	k.Log.Info("service made for an xbackend", "xbackend", backend.String(), "service", service.Name)
	return nil
}

func (k *Keeper) correct(ctx context.Context, service *corev1.Service, s ir.Selector) error {
	corrected := service.DeepCopy()
	if !correct(corrected, s) {
		return nil
	}
	if err := k.Client.Patch(ctx, corrected, client.MergeFrom(service)); err != nil {
		return fmt.Errorf("changing Service %s: %w", service.Name, err)
	}
	return nil
}

func (k *Keeper) remove(ctx context.Context, service *corev1.Service) error {
	err := k.Client.Delete(ctx, service, client.Preconditions{UID: &service.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Service %s: %w", service.Name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(client.ObjectKeyFromObject(service))
	return nil
}
