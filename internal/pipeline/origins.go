package pipeline

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/client"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// The origins of a resource are the policies, and objects like them, that its content comes from. They travel with it to the xDS server and
// come back in a NACK, so that the objects at fault are those of the version that was rejected. Routes and listeners, which use a resource,
// are looked up when there is a NACK.

// secretUsers finds what needs a secret: backends, routes, and policies on listeners.
type secretUsers struct {
	authorities, certificates *store.IndexOf[ir.GatewaySecret, *ir.BackendTLS]
	routes                    *store.IndexOf[ir.GatewaySecret, route.Resolved]
	layers                    *store.IndexOf[ir.GatewaySecret, *inherit.Layer]
}

// listenerOrigins are the policies on a port and its chains, and the one that decides about tracing.
func (g *graph) listenerOrigins(id ir.PortID, port ir.Port) []ir.ObjectRef {
	var origins []ir.ObjectRef
	for i := range port.Chains {
		origins = append(origins, port.Chains[i].Client().Origins...)
	}
	if tracing, _ := g.tracing.Get(nil, id.Gateway); tracing != nil {
		origins = append(origins, tracing.Origin)
	}
	return origins
}

// secretOrigins are the policies that a secret is needed for: at listeners, for backends, and for requests.
func (g *graph) secretOrigins(id ir.GatewaySecret) []ir.ObjectRef {
	settings, _ := g.clientSettings.Get(nil, id.Gateway)
	origins := settings.Origins(func(_ client.ChainKey, p *ir.ClientPolicy) bool {
		return p.TLS.Clients != nil && p.TLS.Clients.Authorities == id.Secret
	})
	for _, user := range g.backendsOfSecret(id) {
		origins = append(origins, g.clusterOrigins(user)...)
	}
	for _, key := range g.secretUsers.layers.Keys(nil, id) {
		if layer, _ := g.inherited.listeners.Table.Get(nil, key); layer != nil {
			origins = append(origins, layer.Request.Objects()...)
		}
	}
	return origins
}

// originsOf are the origins of a resource as it is now.
func (g *graph) originsOf(r resourceID) []ir.ObjectRef {
	var origins []ir.ObjectRef
	for _, name := range g.served(r.group) {
		switch r.typ { //nolint:exhaustive // the others have none
		case xds.Cluster:
			backend, _ := ir.ParseBackend(r.name)
			origins = append(origins, g.clusterOrigins(ir.GatewayBackend{Gateway: name, Backend: backend})...)
		case xds.Secret:
			origins = append(origins, g.secretOrigins(ir.GatewaySecret{Gateway: name, Secret: r.name})...)
		case xds.Listener:
			if id := ir.ParsePortName(r.name); id.Gateway == name {
				p, _ := g.ports.Get(nil, id)
				origins = append(origins, g.listenerOrigins(id, p)...)
			}
		}
	}
	return origins
}

// originNames are the texts of origins, sorted, each once.
func originNames(origins []ir.ObjectRef) []string {
	var names []string
	for _, origin := range origins {
		if !origin.IsZero() {
			names = append(names, origin.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
