package selector

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/tasks"
)

// Config is what a [Keeper] works with. All fields but Installation are needed.
type Config struct {
	Client client.Client
	// Reader must not be a cache: one that has not seen a Service yet would have it made twice.
	Reader client.Reader
	Log    *slog.Logger
	// Installation is which of several installations this is, see [ir.Installation]. Each has Services of its own.
	Installation string
}

// Keeper keeps a Service for every selector that is wanted. What is wanted may be said at any time and on every replica; it is done while
// Start runs.
type Keeper struct {
	Config
	tasks *tasks.Tasks[ir.Name]

	mu sync.Mutex
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
		tasks:  tasks.New[ir.Name]("selectors", 1, config.Log),
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
	k.tasks.Add(backend)
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
	k.tasks.Add(backend)
}

// Start works until the context ends, and can be started again. It begins with the Services that an earlier leader made.
func (k *Keeper) Start(ctx context.Context) error {
	if k.takeStock(ctx) {
		k.tasks.Run(ctx, k.begin, k.serve)
	}
	return nil
}

func (k *Keeper) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for backend := range k.wanted {
		k.tasks.Add(backend)
	}
}

// takeStock finds the Services that were made before, and says whether it could before the context ended.
func (k *Keeper) takeStock(ctx context.Context) bool {
	return tasks.Insist(ctx, func() error {
		var services corev1.ServiceList
		if err := k.Reader.List(ctx, &services, client.HasLabels{Label}); err != nil {
			return fmt.Errorf("listing Services: %w", err)
		}
		k.remember(services.Items)
		return nil
	}, func(err error) { k.Log.Error("services of xbackends can not be listed, trying again", "error", err) })
}

func (k *Keeper) remember(services []corev1.Service) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range services {
		key := client.ObjectKeyFromObject(&services[i])
		if owner, ok := k.ownerOf(&services[i]); ok && k.made[key] != owner {
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

func (k *Keeper) serve(ctx context.Context, backend ir.Name) error {
	k.mu.Lock()
	w, exists := k.wanted[backend]
	idle := w.selector == nil && k.has[backend] == 0
	k.mu.Unlock()
	if !exists || idle {
		return nil
	}
	err := k.bring(ctx, backend, w)
	if err != nil && ctx.Err() == nil {
		k.Log.Error("service of an xbackend not made, trying again", "xbackend", backend.String(), "error", err)
	}
	return err
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
		if owner, ok := k.ownerOf(service); !ok || owner != backend {
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
	if k.Installation != "" {
		service.Labels[ir.InstallationLabel] = k.Installation
	}
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
