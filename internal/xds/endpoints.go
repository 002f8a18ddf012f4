package xds

import (
	"sync"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// endpointTable holds the load assignments of the whole cluster, which groups share. It knows which group may see which assignment, and
// which streams subscribe to it.
//
// An assignment exists for a group exactly while one of the group's clusters names it. Until it is published, or after it is removed,
// the group sees an assignment without endpoints: Envoy waits for an answer before it uses a cluster, and at start for all of them, so
// a name must not stay unanswered. An assignment that is published before the cluster that names it leaves no gap.
type endpointTable struct {
	mu          sync.RWMutex
	assignments map[string]*Resource
	// referrers counts, for each assignment and group, the clusters that name it.
	referrers map[string]map[*group]int
	followers map[string]map[*stream]struct{}
	// zones has the zone of each node, if known, and local are the assignments that differ by place.
	zones map[string]string
	local set
	// following counts, for each node, the assignments that streams of proxies there subscribe to.
	following map[string]int
}

func newEndpointTable() *endpointTable {
	return &endpointTable{
		assignments: map[string]*Resource{},
		referrers:   map[string]map[*group]int{},
		followers:   map[string]map[*stream]struct{}{},
		zones:       map[string]string{},
		local:       set{},
		following:   map[string]int{},
	}
}

// lookup returns what a proxy of a group on a node sees under a name, nil if it may not see it. The node is empty if it is not known.
func (e *endpointTable) lookup(g *group, name, node string) versioned {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.referrers[name][g] == 0 {
		return nil
	}
	if assignment := e.assignments[name]; assignment != nil {
		return &namedResource{name: name, content: assignment.at(node, e.zones[node])}
	}
	return emptyAssignment(name)
}

func emptyAssignment(name string) versioned {
	empty, err := NewResource(&endpointv3.ClusterLoadAssignment{ClusterName: name})
	if err != nil {
		// A name without a wire format cannot be requested either.
		return nil
	}
	return &namedResource{name: name, content: empty}
}

// apply returns the streams that see changes, with the changes that each sees.
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
			if e.referrers[name][s.group] > 0 {
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
			if s.node == node && e.referrers[name][s.group] > 0 {
				affected[s] = append(affected[s], name)
			}
		}
	}
	return affected
}

// use records one more cluster of a group that names an assignment, and reports whether the group could not see it before.
func (e *endpointTable) use(g *group, name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.referrers[name] == nil {
		e.referrers[name] = map[*group]int{}
	}
	e.referrers[name][g]++
	return e.referrers[name][g] == 1
}

// release is the opposite of use. It notifies no stream: the proxy drops the subscription with the cluster.
func (e *endpointTable) release(g *group, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.referrers[name][g]--; e.referrers[name][g] <= 0 {
		delete(e.referrers[name], g)
	}
	if len(e.referrers[name]) == 0 {
		delete(e.referrers, name)
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
