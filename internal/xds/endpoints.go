package xds

import (
	"sync"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// endpointTable holds the load assignments of the whole cluster, which groups share, and knows which group may see which and which
// streams follow which.
//
// An assignment exists for a group exactly while one of the group's clusters names it. If nobody has published it yet, or it was
// withdrawn, the group sees an assignment without endpoints: Envoy neither uses nor finishes warming a cluster before it has an answer,
// and at start waits for all of them, so a name that nobody publishes must not stay unanswered. Whoever publishes an assignment before
// the cluster that names it never lets a proxy see that gap.
type endpointTable struct {
	mu          sync.RWMutex
	assignments map[string]*Resource
	// users counts, for each assignment and group, the clusters that name it.
	users     map[string]map[*group]int
	followers map[string]map[*stream]struct{}
	// zones is in which zone each node is, as far as it is known, and local are the assignments that differ by place.
	zones map[string]string
	local set
	// following counts, for each node, the assignments that streams of proxies there follow.
	following map[string]int
}

func newEndpointTable() *endpointTable {
	return &endpointTable{
		assignments: map[string]*Resource{},
		users:       map[string]map[*group]int{},
		followers:   map[string]map[*stream]struct{}{},
		zones:       map[string]string{},
		local:       set{},
		following:   map[string]int{},
	}
}

// lookup returns what a proxy of a group that runs on a node sees under a name, nil if it may not see it. The node is empty for what those
// see of whom it is not known.
func (e *endpointTable) lookup(g *group, name, node string) versioned {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.users[name][g] == 0 {
		return nil
	}
	if assignment := e.assignments[name]; assignment != nil {
		return &named{name: name, content: assignment.at(node, e.zones[node])}
	}
	return emptyAssignment(name)
}

func emptyAssignment(name string) versioned {
	empty, err := NewResource(&endpointv3.ClusterLoadAssignment{ClusterName: name})
	if err != nil {
		// A name that has no wire format can not be asked for either.
		return nil
	}
	return &named{name: name, content: empty}
}

// apply returns the streams that see one of the changes, and which.
func (e *endpointTable) apply(changes map[string]*Resource) map[*stream][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	affected := map[*stream][]string{}
	for name, resource := range changes {
		before, existed := e.assignments[name]
		switch {
		case resource == nil && !existed, resource != nil && existed && before.Everywhere() == resource.Everywhere():
			continue
		case resource == nil:
			delete(e.assignments, name)
		default:
			e.assignments[name] = resource
		}
		delete(e.local, name)
		if resource != nil && resource.local != nil {
			e.local[name] = struct{}{}
		}
		for s := range e.followers[name] {
			if e.users[name][s.group] > 0 {
				affected[s] = append(affected[s], name)
			}
		}
	}
	return affected
}

// place records the zone of a node, empty if it has none, and returns the streams of proxies there with the assignments that differ by
// zone.
func (e *endpointTable) place(node, zone string) map[*stream][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.zones[node] == zone {
		return nil
	}
	if zone == "" {
		delete(e.zones, node)
	} else {
		e.zones[node] = zone
	}
	if e.following[node] == 0 {
		return nil
	}
	affected := map[*stream][]string{}
	for name := range e.local {
		for s := range e.followers[name] {
			if s.node == node && e.users[name][s.group] > 0 {
				affected[s] = append(affected[s], name)
			}
		}
	}
	return affected
}

// use records that one more cluster of a group names an assignment, and says whether the group could not see it before.
func (e *endpointTable) use(g *group, name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users[name] == nil {
		e.users[name] = map[*group]int{}
	}
	e.users[name][g]++
	return e.users[name][g] == 1
}

// release is the opposite of use. Nobody is told: the cluster goes away, and with it the proxy's interest.
func (e *endpointTable) release(g *group, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users[name][g]--; e.users[name][g] <= 0 {
		delete(e.users[name], g)
	}
	if len(e.users[name]) == 0 {
		delete(e.users, name)
	}
}

func (e *endpointTable) follow(s *stream, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.followers[name] == nil {
		e.followers[name] = map[*stream]struct{}{}
	}
	if _, known := e.followers[name][s]; !known {
		e.followers[name][s] = struct{}{}
		e.following[s.node]++
	}
}

func (e *endpointTable) unfollow(s *stream, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.followers[name][s]; !known {
		return
	}
	if e.following[s.node]--; e.following[s.node] == 0 {
		delete(e.following, s.node)
	}
	delete(e.followers[name], s)
	if len(e.followers[name]) == 0 {
		delete(e.followers, name)
	}
}
