package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// output is a table whose rows are resources of a Gateway each.
type output struct {
	table *store.Table[translation]
	// describe names a resource. Its group is the Gateway.
	describe func(key string) xds.Change
	// own says that they are for proxies that a Gateway has for itself, and shared for those that it shares. The former are always there: proxies that are about to be
	// replaced by shared ones still find theirs.
	own, shared bool
}

// supply has the resources of Gateways that share their proxies reach these as well. It remembers who shares, and who needs what of which all have one.
type supply struct {
	// groups is the group that each Gateway belongs to besides its own, empty for none.
	groups map[string]string
	// holders are the Gateways of a group that need a cluster or a secret.
	holders map[common]map[string]struct{}
}

// common is a resource that several Gateways of a group may need.
type common struct {
	group string
	typ   xds.Type
	name  string
}

func newSupply() *supply {
	return &supply{groups: map[string]string{}, holders: map[common]map[string]struct{}{}}
}

// pass is a change for the group that a Gateway was in, where it takes away, and the one that it is in.
func (s *supply) pass(change xds.Change, before, after string) []xds.Change {
	var passed []xds.Change
	if before != "" && before != after {
		taken := change
		taken.Resource = nil
		passed = s.hold(passed, taken, before)
	}
	if after != "" {
		passed = s.hold(passed, change, after)
	}
	return passed
}

// hold adds a change for a group, unless it takes away what another Gateway needs.
func (s *supply) hold(changes []xds.Change, change xds.Change, group string) []xds.Change {
	holder := change.Group
	change.Group = group
	if change.Type != xds.Cluster && change.Type != xds.Secret {
		return append(changes, change)
	}
	what := common{group, change.Type, change.Name}
	if change.Resource != nil {
		if s.holders[what] == nil {
			s.holders[what] = map[string]struct{}{}
		}
		s.holders[what][holder] = struct{}{}
		return append(changes, change)
	}
	delete(s.holders[what], holder)
	if len(s.holders[what]) > 0 {
		return changes
	}
	delete(s.holders, what)
	return append(changes, change)
}

// resourceChanges takes what proxies have to learn, and what was kept from them.
func (g *graph) resourceChanges() ([]xds.Change, []found) {
	after, moved := map[string]string{}, []string{}
	changed := g.shared.tenants.TakeChanged()
	for _, key := range changed {
		tenant, exists := g.shared.tenants.Get(nil, key)
		if after[key] = ""; tenant.Class != "" {
			after[key] = ir.SharedFleet(tenant.Class).String()
		}
		if before, known := g.supply.groups[key]; known && exists && before != after[key] {
			moved = append(moved, key)
		}
	}
	groups := func(gateway string) (string, string) {
		before := g.supply.groups[gateway]
		if now, changed := after[gateway]; changed {
			return before, now
		}
		return before, before
	}
	var changes []xds.Change
	var flaws []found
	for _, out := range g.outputs() {
		different, flawed := takeResources(out.table, out.describe)
		flaws = append(flaws, flawed...)
		if out.own {
			changes = append(changes, different...)
		}
		if !out.shared {
			continue
		}
		for _, change := range different {
			before, now := groups(change.Group)
			changes = append(changes, g.supply.pass(change, before, now)...)
		}
	}
	if len(moved) > 0 {
		changes = append(changes, g.move(moved, groups)...)
	}
	for _, key := range changed {
		if g.shared.tenants.Has(key) {
			g.supply.groups[key] = after[key]
		} else {
			delete(g.supply.groups, key)
		}
	}
	return changes, flaws
}

// move takes everything of Gateways from one group to another. That is rare, so it may look through all there is.
func (g *graph) move(gateways []string, groups func(string) (string, string)) []xds.Change {
	moving := map[string]bool{}
	for _, key := range gateways {
		moving[key] = true
	}
	var changes []xds.Change
	for _, out := range g.outputs() {
		if !out.shared {
			continue
		}
		for _, key := range out.table.Keys(nil) {
			change := out.describe(key)
			if t, _ := out.table.Get(nil, key); moving[change.Group] && t.resource != nil {
				before, now := groups(change.Group)
				change.Resource = t.resource
				changes = append(changes, g.supply.pass(change, before, now)...)
			}
		}
	}
	return changes
}
