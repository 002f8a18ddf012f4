package model

import (
	"slices"
	"strings"
)

// Answer is the route that answers a request for a host at a port, nil if none does.
func (e *Envoy) Answer(port int, host string) *Route {
	if !e.started {
		return nil
	}
	for _, l := range e.listeners {
		if !l.bound || l.port != port {
			continue
		}
		if c := chainFor(l.chains, host); c != nil {
			return e.routeIn(c, host)
		}
	}
	return nil
}

// chainFor is the chain with the most specific server name for a host.
func chainFor(chains []*chain, host string) *chain {
	var best *chain
	for _, c := range chains {
		suffix, wild := strings.CutPrefix(c.serverName, "*")
		matches := c.serverName == "" || c.serverName == host || wild && strings.HasSuffix(host, suffix)
		if matches && (best == nil || len(c.serverName) > len(best.serverName)) {
			best = c
		}
	}
	return best
}

// routeIn looks a host up in the scopes or the table of a chain. The search in scopes is that of the control plane's filter: the host, then
// the wildcards.
func (e *Envoy) routeIn(c *chain, host string) *Route {
	if c.scoped != "" {
		serving := e.scopes[c.scoped].serving
		if s := serving[c.table+"|"+host]; s != nil {
			return s.find(host)
		}
		if s := serving[c.table+"|*"]; s != nil {
			return s.find(host)
		}
		return nil
	}
	if p := e.tables[c.routes]; p != nil && p.table != nil {
		return p.table.find(host)
	}
	return nil
}

// find is the route of the most specific domain.
func (t *table) find(host string) *Route {
	if r := t.routes[host]; r != nil {
		return r
	}
	var best *Route
	length := -1
	for domain, r := range t.routes {
		suffix, wild := strings.CutPrefix(domain, "*")
		if wild && strings.HasSuffix(host, suffix) && len(suffix) > length {
			best, length = r, len(suffix)
		}
	}
	return best
}

// Cold are the routes in use by active chains whose clusters are not warm.
func (e *Envoy) Cold() []*Route {
	if !e.started {
		return nil
	}
	var cold []*Route
	add := func(t *table) {
		for _, r := range t.routes {
			for _, name := range r.Clusters {
				if e.active[name] == nil && name != "unresolved-backend" {
					cold = append(cold, r)
				}
			}
		}
	}
	for _, l := range e.listeners {
		for _, c := range l.chains {
			if p := e.tables[c.routes]; p != nil && p.table != nil {
				add(p.table)
			}
			if c.scoped == "" {
				continue
			}
			for name, s := range e.scopes[c.scoped].serving {
				if strings.HasPrefix(name, c.table+"|") {
					add(&s.table)
				}
			}
		}
	}
	return cold
}

// Holds are the names and versions of a type that would be listed when reconnecting, `<name>=<version>`.
func (e *Envoy) Holds(typeURL string) []string {
	s := e.subscriptions[typeURL]
	if s == nil {
		return nil
	}
	var all []string
	for _, versions := range []map[string]string{s.requested, s.wild} {
		for name, version := range versions {
			if version != "" {
				all = append(all, name+"="+version)
			}
		}
	}
	slices.Sort(all)
	return all
}
