package model

import (
	"iter"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// attached is a version of a listener in Envoy.
type attached struct {
	*listener
	// fresh are the chains that were built for this version. It waits for what they need; the others are those of the version before
	// (filter_chain_manager_impl.cc).
	fresh []*chain
	// inPlace says that only chains differ from the active version, so that all others go on.
	inPlace bool
}

// draining are chains whose connections are being closed. What they watch stays watched.
type draining struct {
	chains   []*chain
	deadline time.Time
}

// takeListeners removes first, then applies one by one; those refused are named, the others stay applied (lds_api.cc).
func (e *Envoy) takeListeners(r *discoveryv3.DeltaDiscoveryResponse) string {
	resume := e.pause(routeType, scopeType, secretType)
	for _, name := range r.GetRemovedResources() {
		delete(e.warmingListeners, name)
		if l := e.listeners[name]; l != nil {
			delete(e.listeners, name)
			e.drain(l.chains)
		}
		e.collect()
	}
	problem := ""
	for _, resource := range r.GetResources() {
		l := decode(resource.GetResource(), &knownListeners, readListener)
		if l.refused {
			problem += l.name + ": " + rejection + "\n"
			continue
		}
		e.updateListener(l)
		e.collect()
	}
	e.listened = true
	e.advance()
	resume()
	if problem != "" {
		return "Error adding/updating listener(s) " + problem
	}
	return ""
}

// updateListener follows addOrUpdateListenerInternal of listener_manager_impl.cc.
func (e *Envoy) updateListener(l *listener) {
	active, warming := e.listeners[l.name], e.warmingListeners[l.name]
	switch {
	case active != nil && active.listener == l:
		// A change that is taken back ends the warming one at once.
		delete(e.warmingListeners, l.name)
		return
	case warming != nil && warming.listener == l:
		return
	}
	next := &attached{listener: l, fresh: l.chains}
	if !e.started {
		e.listeners[l.name] = next
		e.own(next)
		return
	}
	if active != nil && active.base == l.base && len(l.chains) > 0 {
		next.inPlace = true
		next.fresh = without(l.chains, active.chains)
	}
	e.own(next)
	e.warmingListeners[l.name] = next
}

// own has a listener wait for the scopes that it is the first to use. It is called while the version before still holds what it uses.
func (e *Envoy) own(l *attached) {
	for _, c := range l.fresh {
		if c.scoped != "" && e.scopes[c.scoped] == nil {
			e.openScopes(c.scoped, l)
		}
	}
}

// ready says whether everything that a listener waits for is there.
func (e *Envoy) ready(l *attached) bool {
	for _, c := range l.fresh {
		if c.routes != "" && !e.tables[c.routes].ready {
			return false
		}
		if s := e.scopes[c.scoped]; c.scoped != "" && s.creator == l && !s.ready {
			return false
		}
		if slices.ContainsFunc(c.secrets, func(s string) bool { return !e.secrets[s].ready }) {
			return false
		}
	}
	return true
}

// activate has a warm listener accept connections. What it does not have of the version before is drained.
func (e *Envoy) activate(l *attached) {
	if before := e.listeners[l.name]; before != nil {
		gone := before.chains
		if l.inPlace {
			gone = without(before.chains, l.chains)
		}
		e.drain(gone)
	}
	e.listeners[l.name] = l
	e.collect()
}

func (e *Envoy) drain(chains []*chain) {
	if e.started && len(chains) > 0 {
		e.draining = append(e.draining, draining{chains, e.Now().Add(e.Drain)})
	}
}

func without(chains, taken []*chain) []*chain {
	return slices.DeleteFunc(slices.Clone(chains), func(c *chain) bool { return slices.Contains(taken, c) })
}

// collect begins and ends subscriptions, so that there is one for everything that a chain or cluster uses and for nothing else.
func (e *Envoy) collect() {
	tables, secrets, scoped := set{}, set{}, set{}
	for c := range e.chains() {
		if c.routes != "" {
			tables[c.routes] = true
		}
		if c.scoped != "" {
			scoped[c.scoped] = true
		}
		for _, s := range c.secrets {
			secrets[s] = true
		}
	}
	for _, clusters := range []map[string]*warmable{e.active, e.warming} {
		for _, c := range clusters {
			for _, s := range c.secrets {
				secrets[s] = secrets[s] || c.ready
			}
		}
	}
	e.provide(routeType, e.tables, tables)
	e.provide(secretType, e.secrets, secrets)
	for key := range sorted(scoped) {
		if e.scopes[key] == nil {
			e.openScopes(key, e.anchor)
		}
	}
	for key := range sorted(e.scopes) {
		if !scoped[key] {
			// There is no message when the last watch ends, nor when the next one begins.
			delete(e.scopes, key)
		}
	}
}

// chains are all that there are: active, warming, draining, and that of the anchor.
func (e *Envoy) chains() iter.Seq[*chain] {
	var all []*chain
	for _, l := range e.listeners {
		all = append(all, l.chains...)
	}
	for _, l := range e.warmingListeners {
		all = append(all, l.chains...)
	}
	for _, d := range e.draining {
		all = append(all, d.chains...)
	}
	if e.anchor != nil && e.initialized {
		all = append(all, e.anchor.chains...)
	}
	return slices.Values(all)
}

func (e *Envoy) provide(typeURL string, have map[string]*provider, used set) {
	for name, is := range sorted(used) {
		if is && have[name] == nil {
			have[name] = &provider{target: target{deadline: e.Now().Add(fetchTimeout)}}
			e.watch(typeURL, name)
		}
	}
	for name := range sorted(have) {
		if !used[name] {
			delete(have, name)
			e.unwatch(typeURL, name)
		}
	}
}

func (e *Envoy) openScopes(key string, creator *attached) {
	e.scopes[key] = &scopes{
		target: target{deadline: e.Now().Add(fetchTimeout)}, known: map[string]*scope{}, serving: map[string]*scope{}, creator: creator,
	}
	e.subscribe(scopeType)
}

// takeTables updates one watch after the other and stops at the first that is refused (watch_map.cc). A removal is ignored, but ends the
// fetch timeout (rds_route_config_subscription.cc, grpc_subscription_impl.cc).
func (e *Envoy) takeTables(r *discoveryv3.DeltaDiscoveryResponse) string {
	for _, resource := range r.GetResources() {
		p := e.tables[resource.GetName()]
		if p == nil {
			continue
		}
		t := decode(resource.GetResource(), &knownTables, readTable)
		if t.refused {
			return rejection
		}
		p.table = t
		p.done()
	}
	for _, name := range r.GetRemovedResources() {
		if p := e.tables[name]; p != nil {
			p.deadline = time.Time{}
		}
	}
	return ""
}

// takeScopes gives every ScopedRds subscription the scopes; if there is none they are dropped. Removals come first, and of a refused
// response nothing else reaches the workers, though what stands before the refused scope counts as known (scoped_rds.cc).
func (e *Envoy) takeScopes(r *discoveryv3.DeltaDiscoveryResponse) string {
	for _, s := range sorted(e.scopes) {
		for _, name := range r.GetRemovedResources() {
			delete(s.known, name)
			delete(s.serving, name)
		}
		updated := map[string]*scope{}
		for _, resource := range r.GetResources() {
			next := readScope(resource.GetResource())
			if before := s.known[next.name]; before != nil && before.bytes == next.bytes {
				continue
			}
			if next.refused {
				return rejection
			}
			s.known[next.name] = next
			updated[next.name] = next
		}
		for name, next := range updated {
			s.serving[name] = next
		}
		s.done()
	}
	return ""
}
