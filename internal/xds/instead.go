package xds

import (
	"maps"
	"strings"
)

// A version of a virtual host that one proxy NACKs and others have acknowledged is not replaced for all. The proxy that NACKs it gets
// another host instead, which [Change.Instead] sets: an earlier version, or one that answers errors, so that no wider host takes its
// requests there.

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

// rejection is a version of a virtual host that a proxy NACKs, or that names a cluster which it NACKs.
type rejection struct{ version, cluster string }

// rejects records that the proxy rejects a version of a virtual host. If there is a substitute, it gets that.
func (s *stream) rejects(key hostKey, r rejection) {
	if s.rejected == nil {
		s.rejected = map[hostKey]rejection{}
	}
	s.rejected[key] = r
	if name := scopeOf(key.table, key.domain); s.group.instead[key].version == r.version && s.subscriptions[Scope].wants(name) {
		s.subscriptions[Scope].mark(name, true)
		s.replaced = true
	}
}

// forgetRejected drops what is known of the virtual hosts of a scope that have changed.
func (s *stream) forgetRejected(name string) {
	if len(s.rejected) == 0 {
		return
	}
	table, domain, _ := strings.Cut(name, scopeSeparator)
	changed := func(key hostKey, r rejection) bool {
		host := s.group.host(key)
		return host == nil || host.version != r.version
	}
	if domain == anyHost {
		maps.DeleteFunc(s.rejected, func(key hostKey, r rejection) bool {
			return key.table == table && !exact(key.domain) && changed(key, r)
		})
		return
	}
	if key := (hostKey{table, domain}); changed(key, s.rejected[key]) {
		delete(s.rejected, key)
	}
}

// retryRejected has virtual hosts be sent that the proxy rejects because of a cluster that it has now answered. If it NACKs the cluster
// again, they are reported again.
func (s *stream) retryRejected(clusters *delivery) {
	for key, r := range s.rejected {
		if clusters.versions[r.cluster] == "" {
			continue
		}
		delete(s.rejected, key)
		own := &s.subscriptions[Scope]
		if name := scopeOf(key.table, key.domain); own.wants(name) {
			own.mark(name, true)
			own.held[name] = heldResource{}
		}
	}
}

// substituteFor returns the virtual host that the proxy gets instead of one that it NACKs, nil if it gets this one.
func (s *stream) substituteFor(key hostKey, host *Resource) *Resource {
	if r, rejects := s.rejected[key]; rejects && host != nil && host.version == r.version {
		if found := s.group.instead[key]; found.version == r.version {
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
	changed, sum := *own, digest{}
	replace := func(host, instead *Resource) {
		sum = sum.plus(digestOf(host.version, instead.version))
		changed.hostBytes += roomOf(instead) - roomOf(host)
	}
	if own.host != nil {
		if instead := s.substituteFor(hostKey{table, domain}, own.host); instead != nil {
			changed.host = instead
			replace(own.host, instead)
		}
	} else {
		for key := range s.rejected {
			if host := own.wild.get(key.domain); key.table == table && host != nil {
				if instead := s.substituteFor(key, host); instead != nil {
					changed.wild = changed.wild.put(key.domain, instead)
					replace(host, instead)
				}
			}
		}
	}
	if sum == (digest{}) {
		return seen
	}
	changed.version = digestOf(own.version, "").plus(sum).String()
	return &namedResource{name: named.name, content: &changed}
}
