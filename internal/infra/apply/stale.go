package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/leaderqueue"
)

// successorPause is how often a new fleet is checked before the one it replaces is deleted.
const successorPause = 2 * time.Second

// inventory lists the fleets that have objects in the cluster, and their kinds, by the Gateway that owns them. A Gateway has more than one
// fleet after it was given another class, and one too many after it was given away.
type inventory map[ir.Name]map[identity]map[string]bool

// add notes an object of a fleet, or with no kind that there is, or will be, one.
func (s inventory) add(gateway ir.Name, fleet identity, kind string) {
	if s[gateway] == nil {
		s[gateway] = map[identity]map[string]bool{}
	}
	if s[gateway][fleet] == nil {
		s[gateway][fleet] = map[string]bool{}
	}
	if kind != "" {
		s[gateway][fleet][kind] = true
	}
}

// ours chooses the objects of this installation. Another one may run a Gateway that we no longer do.
func (a *Applier) ours() labels.Selector { return render.Selector(a.Settings.Installation) }

// listExisting finds the fleets that an earlier leader left, and queues their Gateways. It retries until it succeeds.
func (a *Applier) listExisting(ctx context.Context) {
	leaderqueue.RetryUntilSuccess(ctx, func() error {
		found, err := a.list(ctx)
		if err == nil {
			a.merge(found)
		}
		return err
	}, func(err error) {
		a.Log.Error("fleets that are no longer wanted cannot be found, trying again", "error", err)
	})
}

func (a *Applier) list(ctx context.Context) (inventory, error) {
	found := inventory{}
	for _, kind := range render.Kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := a.Reader.List(ctx, list, client.MatchingLabelsSelector{Selector: a.ours()}); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			if gateway, uid, ok := render.OwnerOf(object, a.Settings.SystemNamespace); ok {
				found.add(gateway, identity{namespace: object.Namespace, name: object.Name, uid: uid}, kind.Kind)
			}
		}
	}
	return found, nil
}

func (a *Applier) merge(found inventory) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for gateway, fleets := range found {
		for fleet, kinds := range fleets {
			for kind := range kinds {
				a.inventory.add(gateway, fleet, kind)
			}
		}
		a.queue.Add(gateway)
	}
}

// deleteStale removes what is left of fleets that a Gateway had under another class, or before it was given to another controller. A fleet
// that has a successor goes when that one serves.
func (a *Applier) deleteStale(ctx context.Context, name ir.Name) error {
	kept, stale := a.stale(name)
	if len(stale) == 0 {
		return nil
	}
	if kept != nil {
		serves, err := a.serves(ctx, *kept)
		if err != nil {
			return err
		}
		if !serves {
			a.queue.AddAfter(name, successorPause)
			return nil
		}
	}
	for _, fleet := range stale {
		if err := a.remove(ctx, fleet); err != nil {
			return err
		}
		a.mu.Lock()
		delete(a.inventory[name], fleet)
		a.mu.Unlock()
		a.Log.Info("fleet removed", "gateway", name.String(), "fleet", fleet.name)
	}
	return nil
}

// stale returns the fleets of a Gateway that are not wanted, and the one that replaces them. Nothing is stale as long as nothing
// has been said of the Gateway, and not everything has been said. The fleet of one that is gone, or was made anew, is the garbage
// collector's if the Gateway owned it, and ours otherwise.
func (a *Applier) stale(name ir.Name) (*ir.Gateway, []identity) {
	a.mu.Lock()
	defer a.mu.Unlock()
	gateway, wanted := a.wanted[name]
	fleet, released := a.released[name]
	switch {
	case wanted:
		fleet = gateway.Fleet
	case !released && !a.synced:
		return nil, nil
	}
	var stale []identity
	for have := range a.inventory[name] {
		elsewhere := have.namespace != name.Namespace
		switch {
		case have.uid != fleet.UID && !elsewhere:
		case have.uid == fleet.UID && have.namespace == cmp.Or(fleet.OtherNamespace, name.Namespace) && have.name == fleet.Name:
		case have.uid == fleet.UID && released && fleet.Name != "" && have.name == ir.SystemFleetName(name, fleet.Class):
			// Its parameters, or its class, are not known, and with them where it should be.
		default:
			stale = append(stale, have)
		}
	}
	slices.SortFunc(stale, identity.compare)
	if !wanted {
		return nil, stale
	}
	return &gateway, stale
}

// serves reports whether a proxy of the workload that should serve a Gateway is available.
func (a *Applier) serves(ctx context.Context, gateway ir.Gateway) (bool, error) {
	key := client.ObjectKey{Namespace: gateway.FleetNamespace(), Name: render.BackingFleet(gateway)}
	if gateway.Fleet.Proxies.DaemonSet {
		daemons := &appsv1.DaemonSet{}
		if err := client.IgnoreNotFound(a.Reader.Get(ctx, key, daemons)); err != nil {
			return false, fmt.Errorf("getting DaemonSet %s: %w", key, err)
		}
		return daemons.Status.NumberAvailable > 0 && daemons.Status.NumberAvailable >= daemons.Status.DesiredNumberScheduled, nil
	}
	deployment := &appsv1.Deployment{}
	if err := client.IgnoreNotFound(a.Reader.Get(ctx, key, deployment)); err != nil {
		return false, fmt.Errorf("getting Deployment %s: %w", key, err)
	}
	return deployment.Status.AvailableReplicas > 0, nil
}

// remove deletes the objects of a fleet, those that still belong to its Gateway, the last that was made first.
func (a *Applier) remove(ctx context.Context, fleet identity) error {
	for _, kind := range slices.Backward(render.Kinds) {
		if err := a.removeKind(ctx, fleet, kind); err != nil {
			return err
		}
	}
	return nil
}

// removeKind deletes the object of one kind, if it is there and belongs to the fleet.
func (a *Applier) removeKind(ctx context.Context, fleet identity, kind schema.GroupVersionKind) error {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	key := client.ObjectKey{Namespace: fleet.namespace, Name: fleet.name}
	err := a.Reader.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting %s %s: %w", kind.Kind, key, err)
	}
	owner, uid, ok := render.OwnerOf(object, a.Settings.SystemNamespace)
	if !ok || uid != fleet.uid || !a.ours().Matches(labels.Set(object.Labels)) {
		return nil
	}
	propagation := metav1.DeletePropagationBackground
	if render.IsWorkload(kind.Kind) && owner == ir.SharedFleet(owner.Name) {
		// It is there until its last pod is gone, so that every replica knows which proxies still need configuration.
		propagation = metav1.DeletePropagationForeground
	}
	err = a.Client.Delete(ctx, object, client.Preconditions{
		UID: &object.UID, ResourceVersion: &object.ResourceVersion,
	}, client.PropagationPolicy(propagation))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %s: %w", kind.Kind, key, err)
	}
	return nil
}
