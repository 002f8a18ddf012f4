package model

import (
	"iter"
	"maps"
	"slices"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// warmable is a cluster. Its target is ready when its endpoints came, or DNS answered; only then it asks for its secrets
// (upstream_impl.cc).
type warmable struct {
	*cluster
	target
}

// warmingClusters says that the acknowledgement of clusters waits, which it does not before the first ones are warm
// (cluster_manager_impl.cc, updateClusterCounts).
func (e *Envoy) warmingClusters() bool { return e.initialized && len(e.warming) > 0 }

func (e *Envoy) takeClusters(r *discoveryv3.DeltaDiscoveryResponse) string {
	resume := e.pause(endpointType, secretType)
	for _, resource := range r.GetResources() {
		e.updateCluster(decode(resource.GetResource(), &knownClusters, readCluster))
	}
	for _, name := range r.GetRemovedResources() {
		for _, from := range []map[string]*warmable{e.active, e.warming} {
			if c := from[name]; c != nil {
				delete(from, name)
				e.leaveCluster(c)
			}
		}
	}
	e.hasClusters = true
	e.advance()
	resume()
	return ""
}

func (e *Envoy) updateCluster(c *cluster) {
	before := e.warming[c.name]
	current := before
	if current == nil {
		current = e.active[c.name]
	}
	if current != nil && current.cluster == c {
		return
	}
	w := &warmable{cluster: c}
	e.warming[c.name] = w
	switch {
	case c.endpoints != "":
		w.deadline = e.Now().Add(fetchTimeout)
		e.watch(endpointType, c.endpoints)
	case !c.resolved:
		w.done()
	}
	if before != nil {
		e.leaveCluster(before)
	}
}

func (e *Envoy) leaveCluster(c *warmable) {
	if c.endpoints != "" {
		e.unwatch(endpointType, c.endpoints)
	}
	e.collect()
}

// activateClusters has warm clusters take the place of what they replace.
func (e *Envoy) activateClusters() {
	e.collect()
	for name, c := range sorted(e.warming) {
		if !c.ready || slices.ContainsFunc(c.secrets, func(s string) bool { return !e.secrets[s].ready }) {
			continue
		}
		before := e.active[name]
		delete(e.warming, name)
		e.active[name] = c
		if before != nil {
			e.leaveCluster(before)
		}
	}
}

// takeEndpoints warms the clusters that watch an assignment. An assignment that does not exist warms them too (eds.cc).
func (e *Envoy) takeEndpoints(r *discoveryv3.DeltaDiscoveryResponse) {
	names := set{}
	for _, resource := range r.GetResources() {
		names[resource.GetName()] = true
		e.endpoints[resource.GetName()] = resource.GetVersion()
	}
	for _, name := range r.GetRemovedResources() {
		names[name] = true
	}
	for _, c := range e.warming {
		if c.endpoints != "" && names[c.endpoints] {
			c.done()
		}
	}
}

// Unresolved are the clusters that wait for DNS, and Resolve has it answer for one.
func (e *Envoy) Unresolved() []string {
	var names []string
	for name, c := range sorted(e.warming) {
		if c.resolved && !c.ready {
			names = append(names, name)
		}
	}
	return names
}

// Resolve has DNS answer for a cluster.
func (e *Envoy) Resolve(name string) {
	if c := e.warming[name]; c != nil && c.resolved {
		c.done()
		e.advance()
		e.flush()
	}
}

// takeSecrets notifies the watchers of a secret. A secret that does not exist ends the waiting (sds_api.cc).
func (e *Envoy) takeSecrets(r *discoveryv3.DeltaDiscoveryResponse) {
	for _, resource := range r.GetResources() {
		if p := e.secrets[resource.GetName()]; p != nil {
			p.done()
		}
	}
	for _, name := range r.GetRemovedResources() {
		if p := e.secrets[name]; p != nil {
			p.done()
		}
	}
}

// sorted goes through a map as it is now, in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.SortedFunc(maps.Keys(m), strings.Compare) {
			if v, ok := m[key]; ok && !yield(key, v) {
				return
			}
		}
	}
}
