package xds

import (
	"cmp"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Snapshot is everything that the proxies of a group should have at one time, for delivery by another way than xDS.
type Snapshot struct {
	// State is the name that [Cache.Apply] returned.
	State string
	// The resources are sorted by name, and are shared: they must not be changed. Scopes are left out, because route tables have the same
	// virtual hosts.
	Clusters, Endpoints, Secrets, Listeners, RouteTables []*discoveryv3.Resource
}

// Snapshot returns what the proxies of a group should have now.
func (c *Cache) Snapshot(id GroupID) Snapshot {
	g := c.lockGroup(id)
	snapshot := Snapshot{State: g.state.String()}
	found := map[*[]*discoveryv3.Resource][]versioned{}
	lists := map[*[]*discoveryv3.Resource]Type{&snapshot.Clusters: Cluster, &snapshot.Secrets: Secret, &snapshot.Listeners: Listener}
	for into, t := range lists {
		for name := range g.names(t) {
			found[into] = append(found[into], g.lookup(t, name))
		}
	}
	for _, table := range g.composedTables() {
		found[&snapshot.RouteTables] = append(found[&snapshot.RouteTables], table)
	}
	named := map[string]bool{}
	for _, cluster := range g.resources[Cluster] {
		if name := cluster.effective().assignment(); name != "" && !named[name] {
			named[name] = true
			found[&snapshot.Endpoints] = append(found[&snapshot.Endpoints], g.lookup(Endpoints, name))
		}
	}
	c.unlockGroup(g)

	for into, resources := range found {
		for _, r := range resources {
			if r != nil {
				*into = append(*into, r.wire())
			}
		}
		slices.SortFunc(*into, func(a, b *discoveryv3.Resource) int { return cmp.Compare(a.GetName(), b.GetName()) })
	}
	return snapshot
}

// assignment returns the name of the load assignment of a cluster, empty if none.
func (n *namedResource) assignment() string {
	if n == nil {
		return ""
	}
	return n.endpoints
}
