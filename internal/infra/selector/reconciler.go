package selector

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/leaderqueue"
)

// Config is what a [ServiceReconciler] works with. All fields but Installation are needed.
type Config struct {
	Client client.Client
	// Reader must not be a cache: with one that has not seen a Service yet, a second would be created.
	Reader client.Reader
	Log    *slog.Logger
	// Installation is which of several installations this is, see [ir.Installation]. Each has Services of its own.
	Installation string
}

// ServiceReconciler keeps a Service for every selector that is wanted. What is wanted may be said at any time and on every replica; it
// is done while Start runs.
type ServiceReconciler struct {
	Config
	queue *leaderqueue.Queue[ir.BackendTarget]

	mu sync.Mutex
	// wanted has every XBackend and InferencePool that exists.
	wanted map[ir.BackendTarget]desired
	// made is the object of each Service, and has is the number of Services of each object.
	made map[client.ObjectKey]ir.BackendTarget
	has  map[ir.BackendTarget]int
}

// desired is what is wanted of one object.
type desired struct {
	uid string
	// selector is nil where no endpoints are needed.
	selector *ir.Selector
}

// New returns a reconciler without any selectors.
func New(config Config) *ServiceReconciler {
	return &ServiceReconciler{
		Config: config,
		queue:  leaderqueue.New[ir.BackendTarget]("selectors", 1, config.Log),
		wanted: map[ir.BackendTarget]desired{},
		made:   map[client.ObjectKey]ir.BackendTarget{},
		has:    map[ir.BackendTarget]int{},
	}
}

// Set sets the labels by which an object selects endpoints.
func (r *ServiceReconciler) Set(s ir.Selector) {
	r.setDesired(s.Backend, desired{uid: s.UID, selector: &s})
}

// Release is for an object that exists and whose endpoints are not needed.
func (r *ServiceReconciler) Release(backend ir.BackendTarget, uid string) {
	r.setDesired(backend, desired{uid: uid})
}

func (r *ServiceReconciler) setDesired(backend ir.BackendTarget, w desired) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted[backend] = w
	r.queue.Add(backend)
}

// Delete forgets an object that is gone. Its Service leaves with it, for it owns it.
func (r *ServiceReconciler) Delete(backend ir.BackendTarget) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.wanted, backend)
}

// Observed is called when a Service was created, changed or deleted. One that was created here is reconciled again.
func (r *ServiceReconciler) Observed(namespace, name string, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKey{Namespace: namespace, Name: name}
	backend, ok := r.made[key]
	if !ok {
		return
	}
	if gone {
		r.forget(key)
	}
	r.queue.Add(backend)
}

// Start works until the context ends, and can be started again. It begins with the Services that an earlier leader made.
func (r *ServiceReconciler) Start(ctx context.Context) error {
	if r.listExisting(ctx) {
		r.queue.Run(ctx, r.enqueueAll, r.reconcile)
	}
	return nil
}

func (r *ServiceReconciler) enqueueAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for backend := range r.wanted {
		r.queue.Add(backend)
	}
}

// listExisting finds the Services that were created before. It returns false if the context ended first.
func (r *ServiceReconciler) listExisting(ctx context.Context) bool {
	return leaderqueue.RetryUntilSuccess(ctx, func() error {
		for _, o := range owners {
			var services corev1.ServiceList
			if err := r.Reader.List(ctx, &services, client.HasLabels{o.label}); err != nil {
				return fmt.Errorf("listing Services: %w", err)
			}
			r.remember(services.Items)
		}
		return nil
	}, func(err error) { r.Log.Error("services of selectors cannot be listed, trying again", "error", err) })
}

func (r *ServiceReconciler) remember(services []corev1.Service) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range services {
		key := client.ObjectKeyFromObject(&services[i])
		if owner, ok := r.ownerOf(&services[i]); ok && r.made[key] != owner {
			r.forget(key)
			r.made[key] = owner
			r.has[owner]++
		}
	}
}

// forget is called with the lock held.
func (r *ServiceReconciler) forget(key client.ObjectKey) {
	owner, ok := r.made[key]
	if !ok {
		return
	}
	delete(r.made, key)
	if r.has[owner]--; r.has[owner] == 0 {
		delete(r.has, owner)
	}
}

func (r *ServiceReconciler) reconcile(ctx context.Context, backend ir.BackendTarget) error {
	r.mu.Lock()
	w, exists := r.wanted[backend]
	idle := w.selector == nil && r.has[backend] == 0
	r.mu.Unlock()
	if !exists || idle {
		return nil
	}
	err := r.ensureService(ctx, backend, w)
	if err != nil && ctx.Err() == nil {
		r.Log.Error("service of a selector not made, trying again", "backend", backend.String(), "error", err)
	}
	return err
}

// ensureService makes the Service, corrects it, or removes it. Of several, as two leaders in a row could make, the first by name stays.
func (r *ServiceReconciler) ensureService(ctx context.Context, backend ir.BackendTarget, w desired) error {
	var found corev1.ServiceList
	labels := client.MatchingLabels{ownerKind(backend).label: w.uid}
	if err := r.Reader.List(ctx, &found, client.InNamespace(backend.Object.Namespace), labels); err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	kept := false
	for i := range found.Items {
		service := &found.Items[i]
		if owner, ok := r.ownerOf(service); !ok || owner != backend {
			continue
		}
		if w.selector == nil || kept {
			if err := r.remove(ctx, service); err != nil {
				return err
			}
			continue
		}
		kept = true
		if err := r.correct(ctx, service, *w.selector); err != nil {
			return err
		}
		r.remember(found.Items[i : i+1])
	}
	if w.selector == nil || kept {
		return nil
	}
	service := Render(*w.selector)
	if r.Installation != "" {
		service.Labels[ir.InstallationLabel] = r.Installation
	}
	if err := r.Client.Create(ctx, service); err != nil {
		return fmt.Errorf("creating a Service: %w", err)
	}
	r.remember([]corev1.Service{*service})
	r.Log.Info("service made for a selector", "backend", backend.String(), "service", service.Name)
	return nil
}

func (r *ServiceReconciler) correct(ctx context.Context, service *corev1.Service, s ir.Selector) error {
	corrected := service.DeepCopy()
	if !correct(corrected, s) {
		return nil
	}
	if err := r.Client.Patch(ctx, corrected, client.MergeFrom(service)); err != nil {
		return fmt.Errorf("changing Service %s: %w", service.Name, err)
	}
	return nil
}

func (r *ServiceReconciler) remove(ctx context.Context, service *corev1.Service) error {
	err := r.Client.Delete(ctx, service, client.Preconditions{UID: &service.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Service %s: %w", service.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(client.ObjectKeyFromObject(service))
	return nil
}
