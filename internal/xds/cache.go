package xds

import (
	"sync"
	"sync/atomic"
)

// Cache holds what every proxy should have. It is safe for concurrent use.
//
// Locks are taken in this order: a group's, a stream's, the endpoint table's. None is held while bytes are assembled or sent, so neither a
// big route table nor a slow proxy holds back anybody else.
type Cache struct {
	opened    atomic.Bool
	endpoints *endpointTable

	mu     sync.Mutex
	groups map[string]*group
}

// NewCache returns an empty cache, which is not open.
func NewCache() *Cache {
	return &Cache{endpoints: newEndpointTable(), groups: map[string]*group{}}
}

// Open lets proxies in. Call it when everything known at the start has been applied: a proxy that connects before would be told to remove
// the rest.
func (c *Cache) Open() { c.opened.Store(true) }

// Change sets or removes one resource of one Gateway.
type Change struct {
	// Group is the Gateway, `<namespace>/<name>`.
	Group string
	// Type is any but Endpoints, which belong to no Gateway, and Scope, which is one of the ways in which virtual hosts travel.
	Type Type
	Name string
	// Table is the name of the RouteTable that a VirtualHost is part of.
	Table string
	// Endpoints is the name of the assignment that a Cluster takes its endpoints from, empty if it has none.
	Endpoints string
	// Tables and Secrets are what a Listener asks for before it serves, and Scopes says that it also asks for scopes.
	Tables, Secrets []string
	Scopes          bool
	// Resource is the new content, nil to remove. The content of a RouteTable is a RouteConfiguration without virtual hosts.
	Resource *Resource
	// scope is the content of a Scope, which has no Resource.
	scope *scope
}

// Apply makes changes and tells the proxies of the Gateways concerned. All changes to one Gateway become visible together, and a proxy
// learns of them in the order of the types, except that what is no longer needed is removed last. A change that sets what is already there
// costs nothing.
//
// It returns the state that each of these Gateways is to have now, which [Observer.Holds] repeats when a proxy has it. A state is derived
// from the content alone, so replicas that want the same call it by the same name.
func (c *Cache) Apply(changes []Change) map[string]string {
	byGroup := map[string][]Change{}
	for _, change := range changes {
		byGroup[change.Group] = append(byGroup[change.Group], change)
	}
	states := make(map[string]string, len(byGroup))
	for name, own := range byGroup {
		states[name] = c.applyTo(name, own)
	}
	return states
}

func (c *Cache) applyTo(name string, changes []Change) string {
	g := c.lockGroup(name)
	defer c.unlockGroup(g)
	g.apply(changes)
	return g.state.String()
}

// ApplyEndpoints sets load assignments by name, or removes those that are nil, and tells only the proxies that follow them.
func (c *Cache) ApplyEndpoints(changes map[string]*Resource) {
	for s, names := range c.endpoints.apply(changes) {
		s.notifyEndpoints(names)
	}
}

// PlaceNode says in which zone a node is, empty for none, and tells only the proxies there.
func (c *Cache) PlaceNode(node, zone string) {
	for s, names := range c.endpoints.place(node, zone) {
		s.notifyEndpoints(names)
	}
}

// Wants says whether what was refused is still what the proxies of a Gateway should have.
func (c *Cache) Wants(groupName string, r Refusal) bool {
	g := c.lockGroup(groupName)
	defer c.unlockGroup(g)
	switch r.Type {
	case VirtualHost:
		table := g.tables[r.Table]
		if table == nil {
			return false
		}
		host := table.hosts.get(r.Name)
		return host != nil && host.version == r.Version
	case Cluster, Listener, Secret:
		n := g.resources[r.Type][r.Name]
		return n != nil && n.Version() == r.Version
	default:
		return false
	}
}

// connect adds a stream to the group of its proxy.
func (c *Cache) connect(s *stream, groupName string) {
	g := c.lockGroup(groupName)
	defer c.unlockGroup(g)
	s.group = g
	g.streams[s] = struct{}{}
}

func (c *Cache) disconnect(s *stream) {
	g := c.lockGroup(s.group.name)
	defer c.unlockGroup(g)
	delete(g.streams, s)
	s.close()
}

// lockGroup returns the group of that name, locked.
func (c *Cache) lockGroup(name string) *group {
	for {
		c.mu.Lock()
		g, ok := c.groups[name]
		if !ok {
			g = newGroup(name, c.endpoints)
			c.groups[name] = g
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
		delete(c.groups, g.name)
		c.mu.Unlock()
	}
	g.mu.Unlock()
}
