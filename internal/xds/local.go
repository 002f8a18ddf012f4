package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Places is what proxies in some places get instead of a resource, by the names of nodes and zones. A node counts before its zone.
type Places struct {
	Nodes, Zones map[string]*Resource
	// Elsewhere is for nodes that are not listed, nil if those get what their zone, or everybody, gets.
	Elsewhere *Resource
}

// local is Places with a version of its own.
type local struct {
	Places
	version string
}

// In is the resource with what proxies in some places get instead. Only load assignments have that.
func (r *Resource) In(places Places) *Resource {
	sum := sha256.New()
	write := func(what, place string, resource *Resource) {
		_, _ = fmt.Fprintf(sum, "%s %q %s\n", what, place, resource.version)
	}
	write("all", "", r)
	for _, node := range slices.Sorted(maps.Keys(places.Nodes)) {
		write("node", node, places.Nodes[node])
	}
	for _, zone := range slices.Sorted(maps.Keys(places.Zones)) {
		write("zone", zone, places.Zones[zone])
	}
	if places.Elsewhere != nil {
		write("elsewhere", "", places.Elsewhere)
	}
	with := *r
	with.local = &local{Places: places, version: hex.EncodeToString(sum.Sum(nil)[:versionBytes])}
	return &with
}

// Everywhere is the version of what proxies get wherever they are.
func (r *Resource) Everywhere() string {
	if r.local == nil {
		return r.version
	}
	return r.local.version
}

// at is what a proxy gets on a node, whose zone is empty if it is not known, as is the node.
func (r *Resource) at(node, zone string) *Resource {
	if r.local == nil || node == "" {
		return r
	}
	if found := r.local.Nodes[node]; found != nil {
		return found
	}
	if r.local.Elsewhere != nil {
		return r.local.Elsewhere
	}
	if found := r.local.Zones[zone]; found != nil && zone != "" {
		return found
	}
	return r
}
