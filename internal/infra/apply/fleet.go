package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

type digest [sha256.Size]byte

// scaleKey is where the number of proxies is remembered among the kinds.
const scaleKey = "scale"

// identity distinguishes a fleet from that of an earlier Gateway of the same name, and from another fleet of the same Gateway.
type identity struct{ namespace, name, uid string }

func (i identity) compare(other identity) int {
	return cmp.Or(cmp.Compare(i.namespace, other.namespace), cmp.Compare(i.name, other.name), cmp.Compare(i.uid, other.uid))
}

func identityOf(gateway ir.Gateway) identity {
	return identity{namespace: gateway.FleetNamespace(), name: gateway.Fleet.Name, uid: gateway.Fleet.UID}
}

// fleet is what is known of a fleet in the cluster.
type fleet struct {
	identity identity
	// applied is what was last applied of each kind, and of the number of proxies.
	applied map[string]record
	// seen is what was last seen of each kind and not compared yet, and drift what is not as it was applied.
	seen  map[string]sighting
	drift drift
	// busy is true while a worker uses the fleet; what is seen meanwhile is compared afterwards.
	busy bool
	// rendered are the kinds that the fleet consists of now.
	rendered map[string]bool
	// backing is the name of the fleet that the Service last selected.
	backing string
	// reported is true once problem, empty for none, has been reported.
	reported bool
	problem  string
}

func newFleet(gateway ir.Gateway) *fleet {
	return &fleet{identity: identityOf(gateway), applied: map[string]record{}, seen: map[string]sighting{}}
}

var errNoAuthority = errors.New("the certificate authority is not known yet")

// applyFleet applies what differs from what was applied last, and reports whether it is complete. A Service that selects other proxies
// than it should is switched when the new ones serve.
func (a *Applier) applyFleet(ctx context.Context, gateway ir.Gateway, fleet *fleet) (bool, error) {
	authority := a.Authority.Authority()
	if authority == nil {
		return false, errNoAuthority
	}
	objects, err := render.Fleet(gateway, a.Settings, authority.Bundle())
	if err != nil {
		return false, err
	}
	fleet.rendered = map[string]bool{}
	for _, object := range objects {
		kind := *object.GetKind()
		if kind == serviceKind && fleet.backing != "" && fleet.backing != render.BackingFleet(gateway) {
			if serves, err := a.serves(ctx, gateway); err != nil || !serves {
				return false, err
			}
		}
		if err := a.apply(ctx, gateway, fleet, object); err != nil {
			return false, err
		}
		if fleet.rendered[kind] = true; kind == serviceKind {
			fleet.backing = render.BackingFleet(gateway)
		}
	}
	return true, a.scale(ctx, gateway, fleet)
}

const (
	serviceKind    = "Service"
	deploymentKind = "Deployment"
)

// scale applies the number of proxies where Gatewright sets it.
func (a *Applier) scale(ctx context.Context, gateway ir.Gateway, fleet *fleet) error {
	object := render.Scale(gateway)
	if object == nil {
		delete(fleet.applied, scaleKey)
		return nil
	}
	// It applies to the Deployment that was just applied, and to no other.
	return a.send(ctx, fleet, scaleKey, ScaleOwner, object, func() (precondition, error) {
		return precondition{uid: fleet.applied[deploymentKind].uid}, nil
	})
}

// apply sends one object if it is not what was sent last, and if what is there may be replaced.
func (a *Applier) apply(ctx context.Context, gateway ir.Gateway, fleet *fleet, object render.Object) error {
	kind := *object.GetKind()
	err := a.send(ctx, fleet, kind, render.FieldOwner, object, func() (precondition, error) {
		return a.checkOwnership(ctx, gateway, object, fleet.applied[kind].uid)
	})
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.inventory.add(gateway.Name, fleet.identity, kind)
	}
	return err
}

// send applies an object that is not what was sent last under that key, if it is allowed.
func (a *Applier) send(
	ctx context.Context, fleet *fleet, key, owner string, object render.Object, allowed func() (precondition, error),
) error {
	name := fmt.Sprintf("%s %s/%s", *object.GetKind(), *object.GetNamespace(), *object.GetName())
	encoded, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	sum := digest(sha256.Sum256(encoded))
	if fleet.applied[key].sum == sum {
		return nil
	}
	must, err := allowed()
	if err != nil {
		return err
	}
	patch, err := must.patch(encoded)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	answer := &metav1.PartialObjectMetadata{}
	answer.SetGroupVersionKind(schema.FromAPIVersionAndKind(*object.GetAPIVersion(), *object.GetKind()))
	answer.Namespace, answer.Name = *object.GetNamespace(), *object.GetName()
	if err := a.Client.Patch(ctx, answer, patch, client.FieldOwner(owner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s: %w", name, err)
	}
	fleet.applied[key] = recordOf(sum, answer, owner)
	return nil
}
