package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Places are the variants of a resource for proxies in some places, by the names of nodes and zones. A node takes precedence over its
// zone.
type Places struct {
	Nodes, Zones map[string]*Resource
	// Elsewhere is for nodes that are not listed, nil if these get the variant of their zone, or the resource itself.
	Elsewhere *Resource
}

// local is Places with a version of its own.
type local struct {
	Places
	version string
}

// In returns the resource with variants for some places. Only load assignments have them.
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

// Everywhere is the version of the resource with all its variants.
func (r *Resource) Everywhere() string {
	if r.local == nil {
		return r.version
	}
	return r.local.version
}

// at returns the variant for a node and its zone, each empty if not known.
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
