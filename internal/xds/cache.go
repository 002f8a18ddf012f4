package xds

import (
	"sync"
	"sync/atomic"
)

// Cache holds what every proxy should have. It is safe for concurrent use.
//
// Locks are taken in this order: a group's, a stream's, the endpoint table's. None is held while bytes are assembled or sent, so
// neither a large route table nor a slow proxy delays others.
type Cache struct {
	opened    atomic.Bool
	endpoints *endpointTable

	mu     sync.Mutex
	groups map[GroupID]*group
}

// NewCache returns an empty cache, which is not open.
func NewCache() *Cache {
	return &Cache{endpoints: newEndpointTable(), groups: map[GroupID]*group{}}
}

// Open admits proxies. Call it when everything known at the start has been applied. A proxy that connects before would remove the rest.
func (c *Cache) Open() { c.opened.Store(true) }

// Change sets or removes one resource of one group.
type Change struct {
	Group GroupID
	// Type is any but Endpoints, which belong to no group, and Scope, which is made from virtual hosts.
	Type Type
	Name string
	// Table is the name of the RouteTable that a VirtualHost is part of.
	Table string
	// Endpoints is the name of the load assignment of a Cluster, empty if it has none.
	Endpoints string
	// Tables and Secrets are what a Listener requests before it serves. Scopes reports that it also requests scopes.
	Tables, Secrets []string
	Scopes          bool
	// Resource is the new content, nil to remove. The content of a RouteTable is a RouteConfiguration without virtual hosts.
	Resource *Resource
	// Origins name the objects that the content of a Cluster, Listener or Secret comes from. They come back in [NACK.Origins].
	Origins []string
	// Instead is what proxies get that NACK this version of a VirtualHost, nil if nothing. It is not part of a state.
	Instead *Resource
	// scope is the content of a Scope, which has no Resource.
	scope *scope
}

// Apply makes changes and notifies the proxies of the groups. All changes to one group become visible together. A proxy gets them in
// the order of the types, except that removals come last. A change to the present content costs nothing.
//
// It returns the new state of each of these groups, which [Observer.Holds] reports when a proxy has acknowledged it. A state depends on
// the content alone, so it has the same name in all replicas.
func (c *Cache) Apply(changes []Change) map[GroupID]string {
	byGroup := map[GroupID][]Change{}
	for _, change := range changes {
		byGroup[change.Group] = append(byGroup[change.Group], change)
	}
	states := make(map[GroupID]string, len(byGroup))
	for id, own := range byGroup {
		states[id] = c.applyTo(id, own)
	}
	return states
}

func (c *Cache) applyTo(id GroupID, changes []Change) string {
	g := c.lockGroup(id)
	defer c.unlockGroup(g)
	g.apply(changes)
	return g.state.String()
}

// ApplyEndpoints sets load assignments by name, or removes those that are nil, and notifies only the proxies that subscribe to them.
func (c *Cache) ApplyEndpoints(changes map[string]*Resource) {
	for s, names := range c.endpoints.apply(changes) {
		s.notifyEndpoints(names)
	}
}

// PlaceNode sets the zone of a node, empty for none, and notifies only the proxies there.
func (c *Cache) PlaceNode(node, zone string) {
	for s, names := range c.endpoints.place(node, zone) {
		s.notifyEndpoints(names)
	}
}

// Wants reports whether a NACKed version is still what the proxies of a group should have.
func (c *Cache) Wants(id GroupID, r NACK) bool {
	g := c.lockGroup(id)
	defer c.unlockGroup(g)
	switch r.Type {
	case VirtualHost:
		table := g.tables[r.Table]
		if table == nil {
			return false
		}
		host := table.hosts.get(r.Name)
		return host != nil && host.version == r.Version &&
			(r.Cluster.Name == "" || g.resources[Cluster][r.Cluster.Name].Version() == r.Cluster.Version)
	case RouteTable:
		// Without a version it is not known whether the cause is still there.
		table := g.tables[r.Name]
		return table != nil && table.header != nil && table.header.version == r.Version
	case Cluster, Listener, Secret:
		n := g.resources[r.Type][r.Name]
		return n != nil && n.Version() == r.Version
	default:
		return false
	}
}

// Origins returns the origins of a resource that the proxies of a group should have. It is for a NACK of another replica, which serves the
// same content.
func (c *Cache) Origins(id GroupID, r NACK) []string {
	g := c.lockGroup(id)
	defer c.unlockGroup(g)
	switch r.Type { //nolint:exhaustive // the others have none
	case Cluster, Listener, Secret:
		if n := g.resources[r.Type][r.Name]; n != nil {
			return n.origins
		}
	}
	return nil
}

// connect adds a stream to the group of its proxy. The owner may have changed since the proxy was authenticated.
func (c *Cache) connect(s *stream, id GroupID) error {
	g := c.lockGroup(id)
	defer c.unlockGroup(g)
	if !g.ownedLike(s) {
		return errOtherOwner
	}
	s.group = g
	g.streams[s] = struct{}{}
	return nil
}

func (c *Cache) disconnect(s *stream) {
	g := c.lockGroup(s.group.id)
	defer c.unlockGroup(g)
	delete(g.streams, s)
	s.close()
}

// lockGroup returns the group with that id, locked.
func (c *Cache) lockGroup(id GroupID) *group {
	for {
		c.mu.Lock()
		g, ok := c.groups[id]
		if !ok {
			g = newGroup(id, c.endpoints)
			c.groups[id] = g
		}
		c.mu.Unlock()
		g.mu.Lock()
		if !g.forgotten {
			return g
		}
		g.mu.Unlock()
	}
}

// unlockGroup forgets the group if nothing is left in it.
func (c *Cache) unlockGroup(g *group) {
	if g.empty() {
		g.forgotten = true
		c.mu.Lock()
		delete(c.groups, g.id)
		c.mu.Unlock()
	}
	g.mu.Unlock()
}
