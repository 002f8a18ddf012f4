package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/sharedfleet"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// output is a table whose rows are resources of a Gateway each.
type output struct {
	table *store.Table[translation]
	// describe names a resource. Its group is the Gateway.
	describe func(key string) xds.Change
	// own is set for resources of dedicated proxies, shared for those of a shared fleet. Dedicated resources are always kept, because old
	// pods may still be connected.
	own, shared bool
}

// resourceChanges returns the changes of resources, and what was left out of them.
func (g *graph) resourceChanges() ([]xds.Change, []locatedError) {
	step := g.beginFanout()
	var changes []xds.Change
	var invalid []locatedError
	for _, out := range g.outputs() {
		different, rejected := takeResources(out.table, out.describe)
		invalid = append(invalid, rejected...)
		if out.own {
			changes = append(changes, different...)
		}
		if !out.shared {
			continue
		}
		for _, change := range different {
			changes = append(changes, step.Copy(change)...)
		}
	}
	if step.Moved() {
		changes = append(changes, g.movedResources(step)...)
	}
	step.End()
	return changes, invalid
}

// beginFanout starts a step with the Gateways that came to share proxies, or stopped.
func (g *graph) beginFanout() *sharedfleet.Step {
	var changed []xds.GroupID
	for _, gateway := range g.shared.tenants.TakeChanged() {
		changed = append(changed, ownGroup(gateway))
	}
	return g.fanout.Begin(changed, func(own xds.GroupID) (xds.GroupID, bool) {
		tenant, exists := g.shared.tenants.Get(nil, own.String())
		if tenant.Class == "" {
			return xds.GroupID{}, exists
		}
		return xds.GroupID(ir.SharedFleet(tenant.Class)), exists
	})
}

// movedResources copies all resources of Gateways that go from one group to another. That is rare, so it may read all tables.
func (g *graph) movedResources(step *sharedfleet.Step) []xds.Change {
	var changes []xds.Change
	for _, out := range g.outputs() {
		if !out.shared {
			continue
		}
		for _, key := range out.table.Keys(nil) {
			change := out.describe(key)
			if t, _ := out.table.Get(nil, key); step.Moves(change.Group) && t.resource != nil {
				change.Resource = t.resource
				changes = append(changes, step.Copy(change)...)
			}
		}
	}
	return changes
}
