package apply

import (
	"context"
	"slices"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

// prune removes the objects of a fleet that are of kinds it no longer consists of: a Deployment when there is a DaemonSet and that one
// serves, an autoscaler that is no longer wanted. A Service stays, for the address that it has.
func (a *Applier) prune(ctx context.Context, gateway ir.Gateway, fleet *fleet) error {
	for _, kind := range slices.Backward(render.Kinds) {
		if kind.Kind == serviceKind || fleet.rendered[kind.Kind] || !a.has(gateway.Name, fleet.identity, kind.Kind) {
			continue
		}
		if render.IsWorkload(kind.Kind) {
			serves, err := a.serves(ctx, gateway)
			if err != nil {
				return err
			}
			if !serves {
				a.queue.AddAfter(gateway.Name, successorPause)
				continue
			}
		}
		if err := a.removeKind(ctx, fleet.identity, kind); err != nil {
			return err
		}
		delete(fleet.applied, kind.Kind)
		a.mu.Lock()
		delete(a.inventory[gateway.Name][fleet.identity], kind.Kind)
		a.mu.Unlock()
		a.Log.Info("object of a fleet removed", "gateway", gateway.Name.String(), "kind", kind.Kind)
	}
	return nil
}

func (a *Applier) has(gateway ir.Name, fleet identity, kind string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inventory[gateway][fleet][kind]
}
