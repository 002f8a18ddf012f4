package xds

import (
	"iter"
	"maps"
	"sync"
)

// group has the resources of one Gateway or shared fleet, and the streams of its proxies.
type group struct {
	id        GroupID
	endpoints *endpointTable

	mu sync.RWMutex
	// owner is the UID of the Gateway, empty while there is none, and for a shared fleet; see owner.go.
	owner string
	// resources holds all but Endpoints and RouteTable.
	resources [wireTypes]map[string]*namedResource
	tables    map[string]*routeTable
	streams   map[*stream]struct{}
	// state is the sum of the digests of clusters, listeners and route tables with their virtual hosts. Endpoints and secrets change
	// independently of them.
	state digest
	// instead is what proxies get that NACK a virtual host; see instead.go.
	instead map[hostKey]substitute
	// forgotten is set when the cache has dropped the group.
	forgotten bool
}

func newGroup(id GroupID, endpoints *endpointTable) *group {
	g := &group{id: id, endpoints: endpoints, tables: map[string]*routeTable{}, streams: map[*stream]struct{}{}}
	for t := range g.resources {
		g.resources[t] = map[string]*namedResource{}
	}
	return g
}

func (g *group) empty() bool {
	if g.owner != "" || len(g.streams) > 0 || len(g.tables) > 0 {
		return false
	}
	for _, resources := range g.resources {
		if len(resources) > 0 {
			return false
		}
	}
	return true
}

// touched are the names that have changed.
type touched [wireTypes]map[string]struct{}

func (t *touched) add(typ Type, name string) {
	if t[typ] == nil {
		t[typ] = map[string]struct{}{}
	}
	t[typ][name] = struct{}{}
}

// apply is called with the group locked.
func (g *group) apply(changes []Change) {
	var different touched
	for _, change := range changes {
		switch change.Type {
		case VirtualHost:
			g.changeTable(change.Table, &different, func(t *routeTable) bool { return t.setHost(change.Name, change.Resource) })
			g.changeScope(change.Table, change.Name, &different)
			g.changeInstead(&change, &different)
		case RouteTable:
			if g.changeTable(change.Name, &different, func(t *routeTable) bool { return t.setHeader(change.Resource) }) {
				g.changeScopes(change.Name, &different)
			}
		case Cluster, Secret, Listener:
			g.change(change, &different)
		default:
			panic("xds: " + change.Type.String() + " is not a resource of a group")
		}
	}
	for name := range different[RouteTable] {
		if table := g.tables[name]; table != nil {
			table.publish()
		}
	}
	for s := range g.streams {
		s.notify(&different)
	}
}

func (g *group) changeTable(name string, different *touched, change func(*routeTable) bool) bool {
	table, ok := g.tables[name]
	if !ok {
		table = &routeTable{name: name}
		g.tables[name] = table
	}
	before := table.sum
	changed := change(table)
	if changed {
		different.add(RouteTable, name)
		part := RouteTable.String() + "/" + name
		g.state = g.state.minus(digestOf(part, before.String())).plus(digestOf(part, table.sum.String()))
	}
	if table.empty() {
		delete(g.tables, name)
	}
	return changed
}

func (g *group) change(change Change, different *touched) {
	resources := g.resources[change.Type]
	before := resources[change.Name]
	after := change.resource()
	if after != nil {
		if before.Version() == after.Version() && before.endpoints == change.Endpoints {
			return
		}
		after.good = before.lastGood()
		resources[change.Name] = after
	} else {
		delete(resources, change.Name)
	}
	if change.Type != Secret && change.Type != Scope {
		g.replace(change.Type, change.Name, before, after)
	}
	if after != nil && after.endpoints != "" && g.endpoints.use(g, after.endpoints) {
		different.add(Endpoints, after.endpoints)
	}
	if before != nil && before.endpoints != "" {
		g.endpoints.release(g, before.endpoints)
	}
	if before.effective().Version() != after.Version() {
		different.add(change.Type, change.Name)
	}
}

// resource returns what a change sets, nil if it removes.
func (c *Change) resource() *namedResource {
	n := &namedResource{name: c.Name, endpoints: c.Endpoints, origins: c.Origins}
	switch {
	case c.scope != nil:
		n.content = c.scope
	case c.Resource != nil:
		n.content = c.Resource
	default:
		return nil
	}
	if c.Type == Listener {
		n.needs = &needs{tables: c.Tables, secrets: c.Secrets, scopes: c.Scopes}
	}
	return n
}

// replace updates the state.
func (g *group) replace(t Type, name string, before, after *namedResource) {
	part := t.String() + "/" + name
	if before != nil {
		g.state = g.state.minus(digestOf(part, before.Version()))
	}
	if after != nil {
		g.state = g.state.plus(digestOf(part, after.Version()))
	}
}

// fallsBack reports whether proxies get the last good version of a NACKed resource, because no other proxy has acknowledged it. Without a
// good version, which is not known after a restart, proxies that NACK it keep what they have. It is called with the group locked.
func (g *group) fallsBack(t Type, name, version string) bool {
	n := g.resources[t][name]
	return n != nil && n.Version() == version && n.good != nil && !n.acked.Load()
}

// fallBack gives proxies the last good version of a NACKed resource. It is called with the group locked.
func (g *group) fallBack(t Type, name string) {
	if n := g.resources[t][name]; !n.nacked {
		n.nacked = true
		var different touched
		different.add(t, name)
		for s := range g.streams {
			s.notify(&different)
		}
	}
}

// lookup returns what proxies see under a name, nil if nothing. It is called with the group locked, except for Endpoints.
func (g *group) lookup(t Type, name string) versioned {
	switch t {
	case Endpoints:
		return g.endpoints.lookup(g, name, "")
	case RouteTable:
		if table := g.tables[name]; table != nil && table.current != nil {
			return table.current
		}
		return nil
	default:
		if n := g.resources[t][name].effective(); n != nil {
			return n
		}
		return nil
	}
}

// listeners returns those that proxies see now. It is called with the group locked.
func (g *group) listeners() []*namedResource {
	listeners := make([]*namedResource, 0, len(g.resources[Listener]))
	for _, l := range g.resources[Listener] {
		if seen := l.effective(); seen != nil {
			listeners = append(listeners, seen)
		}
	}
	return listeners
}

// composedTables returns the route tables as they are now. It is called with the group locked.
func (g *group) composedTables() map[string]*composedTable {
	tables := make(map[string]*composedTable, len(g.tables))
	for name, table := range g.tables {
		if table.current != nil {
			tables[name] = table.current
		}
	}
	return tables
}

// names returns everything of a type that has a wildcard. It is called with the group locked.
func (g *group) names(t Type) iter.Seq[string] { return maps.Keys(g.resources[t]) }
