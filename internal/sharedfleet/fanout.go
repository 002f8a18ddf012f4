package sharedfleet

import (
	"slices"

	"github.com/gatewright/gatewright/internal/xds"
)

// Fanout copies the resources of Gateways on a shared fleet into that fleet's group. It counts the Gateways that use each cluster and
// secret, because the group has one of each.
type Fanout struct {
	// groups is the shared group of each Gateway, zero for none. A Gateway is known by its own group.
	groups map[xds.GroupID]xds.GroupID
	// users are the Gateways of a group that use a cluster or a secret.
	users map[resource]map[xds.GroupID]struct{}
}

// resource is one that several Gateways of a group may use.
type resource struct {
	group xds.GroupID
	typ   xds.Type
	name  string
}

// NewFanout returns a Fanout without Gateways.
func NewFanout() *Fanout {
	return &Fanout{groups: map[xds.GroupID]xds.GroupID{}, users: map[resource]map[xds.GroupID]struct{}{}}
}

// Step is one set of changes.
type Step struct {
	fanout *Fanout
	after  map[xds.GroupID]xds.GroupID
	gone   []xds.GroupID
	moved  []xds.GroupID
}

// Begin starts a step in which these Gateways changed their groups. The group function returns the shared group of a Gateway, zero for
// none, and false for a Gateway that no longer exists.
func (f *Fanout) Begin(changed []xds.GroupID, group func(gateway xds.GroupID) (xds.GroupID, bool)) *Step {
	s := &Step{fanout: f, after: map[xds.GroupID]xds.GroupID{}}
	for _, gateway := range changed {
		now, exists := group(gateway)
		s.after[gateway] = now
		if !exists {
			s.gone = append(s.gone, gateway)
		}
		if before, known := f.groups[gateway]; known && exists && before != now {
			s.moved = append(s.moved, gateway)
		}
	}
	return s
}

// Moved reports whether any Gateway goes from one group to another: then the step has to copy all its resources.
func (s *Step) Moved() bool { return len(s.moved) > 0 }

// Moves reports whether a Gateway goes from one group to another.
func (s *Step) Moves(gateway xds.GroupID) bool { return slices.Contains(s.moved, gateway) }

// Copy returns a change of a Gateway for its shared groups: the one it leaves, where it removes, and the one it has now.
func (s *Step) Copy(change xds.Change) []xds.Change {
	before := s.fanout.groups[change.Group]
	now, changed := s.after[change.Group]
	if !changed {
		now = before
	}
	var copies []xds.Change
	if !before.IsZero() && before != now {
		removal := change
		removal.Resource = nil
		copies = s.fanout.add(copies, removal, before)
	}
	if !now.IsZero() {
		copies = s.fanout.add(copies, change, now)
	}
	return copies
}

// End ends the step.
func (s *Step) End() {
	for gateway, group := range s.after {
		s.fanout.groups[gateway] = group
	}
	for _, gateway := range s.gone {
		delete(s.fanout.groups, gateway)
	}
}

// add appends a change for a group, unless it removes what another Gateway uses.
func (f *Fanout) add(changes []xds.Change, change xds.Change, group xds.GroupID) []xds.Change {
	user := change.Group
	change.Group = group
	if change.Type != xds.Cluster && change.Type != xds.Secret {
		return append(changes, change)
	}
	what := resource{group, change.Type, change.Name}
	if change.Resource != nil {
		if f.users[what] == nil {
			f.users[what] = map[xds.GroupID]struct{}{}
		}
		f.users[what][user] = struct{}{}
		return append(changes, change)
	}
	delete(f.users[what], user)
	if len(f.users[what]) > 0 {
		return changes
	}
	delete(f.users, what)
	return append(changes, change)
}
