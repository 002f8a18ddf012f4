package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

type digest [sha256.Size]byte

// identity tells a fleet from one that another Gateway of the same name had, or the same Gateway under another class.
type identity struct{ name, uid string }

func (i identity) compare(other identity) int {
	return cmp.Or(cmp.Compare(i.name, other.name), cmp.Compare(i.uid, other.uid))
}

func identityOf(gateway ir.Gateway) identity {
	return identity{name: gateway.Fleet.Name, uid: gateway.Fleet.UID}
}

// fleet is what is known of a fleet in the cluster.
type fleet struct {
	identity identity
	// applied is what was last applied of each kind.
	applied map[string]digest
	// told says that problem, empty for none, has been reported.
	told    bool
	problem string
}

func newFleet(gateway ir.Gateway) *fleet {
	return &fleet{identity: identityOf(gateway), applied: map[string]digest{}}
}

var errNoAuthority = errors.New("the certificate authority is not known yet")

// bring applies what differs from what was applied last.
func (a *Applier) bring(ctx context.Context, gateway ir.Gateway, fleet *fleet) error {
	authority := a.Authority.Authority()
	if authority == nil {
		return errNoAuthority
	}
	objects, err := render.Fleet(gateway, a.Settings, authority.Bundle())
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := a.apply(ctx, gateway, fleet, object); err != nil {
			return err
		}
	}
	return nil
}

// apply sends one object if it is not what was sent last. The client overwrites it with the answer, so it is encoded before.
func (a *Applier) apply(ctx context.Context, gateway ir.Gateway, fleet *fleet, object render.Object) error {
	kind := *object.GetKind()
	encoded, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding %s %s/%s: %w", kind, *object.GetNamespace(), *object.GetName(), err)
	}
	sum := digest(sha256.Sum256(encoded))
	if fleet.applied[kind] == sum {
		return nil
	}
	if err := a.guard(ctx, gateway, object); err != nil {
		return err
	}
	if err := a.Client.Apply(ctx, object, client.FieldOwner(FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s/%s: %w", kind, *object.GetNamespace(), *object.GetName(), err)
	}
	fleet.applied[kind] = sum
	return nil
}
