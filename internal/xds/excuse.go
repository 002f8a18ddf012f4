package xds

// Excuse says that the objects concerned have been told of a refused virtual host, and that it will stay as it is. From then on proxies that refuse it may hold a
// state all the same. Unless another proxy has taken it, all proxies get the version before it that one has acknowledged, if that is known.
func (c *Cache) Excuse(groupName string, r Refusal) {
	g := c.lockGroup(groupName)
	defer c.unlockGroup(g)
	name := scopeOf(r.Table, r.Name)
	if n := g.resources[Scope][name]; n != nil {
		g.excused[resourceName{Scope, name}] = n.Version()
		g.refuse(Scope, name, n.Version())
	}
	if t := g.tables[r.Table]; t != nil && t.current != nil {
		g.excused[resourceName{RouteTable, r.Table}] = t.current.version
	}
	for s := range g.streams {
		s.mu.Lock()
		s.advance()
		s.mu.Unlock()
	}
}
