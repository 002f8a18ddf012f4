package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// parseBackend is the inverse of [ir.Backend.String].
func parseBackend(key string) ir.Backend {
	backend, _ := ir.ParseBackend(key)
	return backend
}

// kindKeys names the objects of a kind by [store.KindKey].
func kindKeys[V any](table *store.Table[V], kind store.Kind) store.Source {
	return store.NewIndex(table, string(kind)+".key", func(key string, _ V) []string { return []string{store.KindKey(kind, key)} })
}

// resolveRoute resolves a route of any kind.
func resolveRoute(v *store.View, in route.Inputs, key string) route.Resolved {
	resolvers := map[store.Kind]func(*store.View, route.Inputs, string) route.Resolved{
		store.HTTPRoute: route.HTTP, store.GRPCRoute: route.GRPC, store.TLSRoute: route.TLS, store.TCPRoute: route.TCP, store.UDPRoute: route.UDP,
	}
	kind, rest := store.SplitKindKey(key)
	return resolvers[kind](v, in, rest)
}

func portsOf(key string, r gateway.Resolved) []ir.PortID {
	var ids []ir.PortID
	for _, port := range r.Gateway.Ports {
		ids = append(ids, ir.PortID{Gateway: key, Port: port.ID()})
	}
	return ids
}

func tablesOf(_ string, r gateway.Resolved) []ir.TableID {
	var ids []ir.TableID
	for _, port := range r.Gateway.Ports {
		for _, chain := range port.Chains {
			if !chain.RouteTable.IsZero() {
				ids = append(ids, chain.RouteTable)
			}
		}
	}
	return ids
}

// ownHosts gives every listener a virtual host of its own, so that a hostname it claims never falls to a wider listener, even if the
// listener is closed.
func ownHosts(_ string, r gateway.Resolved) []ir.HostID {
	if !r.Serves {
		return nil
	}
	var ids []ir.HostID
	for _, l := range r.Listeners {
		domain := l.Hostname
		if domain == "" {
			domain = "*"
		}
		if (l.Attachable || l.Closed) && !l.Table.IsZero() {
			ids = append(ids, l.Table.Host(domain))
		}
	}
	return ids
}
