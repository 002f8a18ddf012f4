package xds

import "strings"

// A version of a virtual host that one proxy NACKs and others have acknowledged is not replaced for all. The proxy that NACKs it gets
// another host instead, which [Change.Instead] sets: one that answers errors, so that no wider host takes its requests there.

// hostKey is a virtual host of a group.
type hostKey struct{ table, domain string }

// substitute is what proxies get instead of a version of a virtual host that they NACK.
type substitute struct {
	version string
	instead *Resource
}

func (s substitute) is(version string) bool { return s.instead != nil && s.instead.version == version }

// host returns a virtual host, nil if there is none.
func (g *group) host(key hostKey) *Resource {
	table := g.tables[key.table]
	if table == nil {
		return nil
	}
	return table.hosts.get(key.domain)
}

// changeInstead updates the substitute of a virtual host. It lasts as long as the host has that version.
func (g *group) changeInstead(change *Change, different *touched) {
	key := hostKey{change.Table, change.Name}
	if change.Resource == nil || g.instead[key].version != change.Resource.version {
		delete(g.instead, key)
	}
	if change.Resource == nil || change.Instead == nil || g.instead[key].is(change.Instead.version) {
		return
	}
	if g.instead == nil {
		g.instead = map[hostKey]substitute{}
	}
	g.instead[key] = substitute{change.Resource.version, change.Instead}
	different.add(Scope, scopeOf(change.Table, change.Name))
}

// rejects records that the proxy NACKs a version of a virtual host. If there is a substitute, it gets that.
func (s *stream) rejects(key hostKey, version string) {
	if s.rejected == nil {
		s.rejected = map[hostKey]string{}
	}
	for other, old := range s.rejected {
		if host := s.group.host(other); host == nil || host.version != old {
			delete(s.rejected, other)
		}
	}
	s.rejected[key] = version
	if name := scopeOf(key.table, key.domain); s.group.instead[key].version == version && s.subscriptions[Scope].wants(name) {
		s.subscriptions[Scope].mark(name, true)
	}
}

// substituteFor returns the virtual host that the proxy gets instead of one that it NACKs, nil if it gets this one.
func (s *stream) substituteFor(key hostKey, host *Resource) *Resource {
	if version, rejects := s.rejected[key]; rejects && host != nil && host.version == version {
		if found := s.group.instead[key]; found.version == version {
			return found.instead
		}
	}
	return nil
}

// withSubstitutes returns a scope as the proxy gets it.
func (s *stream) withSubstitutes(name string, seen versioned) versioned {
	if len(s.rejected) == 0 || seen == nil {
		return seen
	}
	named, ok := seen.(*namedResource)
	if !ok {
		return seen
	}
	own, ok := named.content.(*scope)
	if !ok {
		return seen
	}
	table, domain, _ := strings.Cut(name, scopeSeparator)
	changed := *own
	if own.host != nil {
		instead := s.substituteFor(hostKey{table, domain}, own.host)
		if instead == nil {
			return seen
		}
		changed.host = instead
		changed.replaced(own.host, instead)
	}
	for key := range s.rejected {
		if host := own.wild.get(key.domain); key.table == table && host != nil {
			if instead := s.substituteFor(key, host); instead != nil {
				changed.wild = changed.wild.put(key.domain, instead)
				changed.replaced(host, instead)
			}
		}
	}
	if changed.version == own.version {
		return seen
	}
	return &namedResource{name: named.name, content: &changed}
}

// replaced updates the version and the size of a scope of which one host is replaced. The version does not depend on the order.
func (c *scope) replaced(host, instead *Resource) {
	c.version = digestOf(c.version, "").plus(digestOf(host.version, instead.version)).String()
	c.hostBytes += roomOf(instead) - roomOf(host)
}
