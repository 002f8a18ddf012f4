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
	"github.com/gatewright/gatewright/internal/tasks"
)

// successorPause is how often a new fleet is looked at before the one it replaces goes.
const successorPause = 2 * time.Second

// stock is which fleets have objects in the cluster, and of which kinds, by the Gateway that owns them. A Gateway has more than one fleet
// after it was given another class, and one too many after it was given away.
type stock map[ir.Name]map[identity]map[string]bool

// add notes an object of a fleet, or with no kind that there is, or will be, one.
func (s stock) add(gateway ir.Name, fleet identity, kind string) {
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

// takeStock finds the fleets that an earlier leader left, and looks at their Gateways again. It goes on until it has succeeded.
func (a *Applier) takeStock(ctx context.Context) {
	tasks.Insist(ctx, func() error {
		found, err := a.list(ctx)
		if err == nil {
			a.merge(found)
		}
		return err
	}, func(err error) {
		a.Log.Error("fleets that are no longer wanted can not be found, trying again", "error", err)
	})
}

func (a *Applier) list(ctx context.Context) (stock, error) {
	found := stock{}
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

func (a *Applier) merge(found stock) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for gateway, fleets := range found {
		for fleet, kinds := range fleets {
			for kind := range kinds {
				a.stock.add(gateway, fleet, kind)
			}
		}
		a.tasks.Add(gateway)
	}
}

// retire removes what is left of fleets that a Gateway had under another class, or before it was given to another controller. A fleet
// that has a successor goes when that one serves.
func (a *Applier) retire(ctx context.Context, name ir.Name) error {
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
			a.tasks.AddAfter(name, successorPause)
			return nil
		}
	}
	for _, fleet := range stale {
		if err := a.remove(ctx, fleet); err != nil {
			return err
		}
		a.mu.Lock()
		delete(a.stock[name], fleet)
		a.mu.Unlock()
		a.Log.Info("fleet removed", "gateway", name.String(), "fleet", fleet.name)
	}
	return nil
}

// stale gives the fleets of a Gateway that nobody wants, and the one that is wanted instead of them. Nothing is stale as long as nothing
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
	for have := range a.stock[name] {
		abroad := have.namespace != name.Namespace
		switch {
		case have.uid != fleet.UID && !abroad:
		case have.uid == fleet.UID && have.namespace == cmp.Or(fleet.Abroad, name.Namespace) && have.name == fleet.Name:
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

// serves says whether a proxy of the workload that a Gateway is to be served by is available.
func (a *Applier) serves(ctx context.Context, gateway ir.Gateway) (bool, error) {
	key := client.ObjectKey{Namespace: gateway.FleetNamespace(), Name: render.Front(gateway)}
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
	way := metav1.DeletePropagationBackground
	if render.IsWorkload(kind.Kind) && owner == ir.SharedFleet(owner.Name) {
		// It is there until its last pod is gone, so that everybody knows who still has to be supplied.
		way = metav1.DeletePropagationForeground
	}
	err = a.Client.Delete(ctx, object, client.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion}, client.PropagationPolicy(way))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %s: %w", kind.Kind, key, err)
	}
	return nil
}
