package pipeline

import (
	"strings"

	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// Keys of tables that hold something for each Gateway are `<namespace>/<name>|<rest>`.

// splitKey cuts a key at the first `|`.
func splitKey(key string) (first, rest string) {
	first, rest, _ = strings.Cut(key, "|")
	return first, rest
}

// kindKeys names the objects of a kind among those of several: `<kind>/<namespace>/<name>`.
func kindKeys[V any](table *store.Table[V], kind store.Kind) store.Source {
	return store.NewIndex(table, string(kind)+".key", func(key string, _ V) []string { return []string{string(kind) + "/" + key} })
}

// splitRouteKey is the inverse of kindKeys.
func splitRouteKey(key string) (store.Kind, string) {
	kind, rest, _ := strings.Cut(key, "/")
	return store.Kind(kind), rest
}

// resolveRoute resolves a route of any kind.
func resolveRoute(v *store.View, in route.Inputs, key string) route.Resolved {
	resolvers := map[store.Kind]func(*store.View, route.Inputs, string) route.Resolved{
		store.HTTPRoute: route.HTTP, store.GRPCRoute: route.GRPC, store.TLSRoute: route.TLS, store.TCPRoute: route.TCP, store.UDPRoute: route.UDP,
	}
	kind, rest := splitRouteKey(key)
	return resolvers[kind](v, in, rest)
}

func portKeys(key string, r gateway.Resolved) []string {
	var keys []string
	for _, port := range r.Gateway.Ports {
		keys = append(keys, key+"|"+port.ID())
	}
	return keys
}

func tableKeys(_ string, r gateway.Resolved) []string {
	var keys []string
	for _, port := range r.Gateway.Ports {
		for _, chain := range port.Chains {
			if chain.RouteTable != "" {
				keys = append(keys, chain.RouteTable)
			}
		}
	}
	return keys
}

// domainKeys gives every listener a virtual host of its own, so that a hostname it claims never falls to a wider listener.
func domainKeys(_ string, r gateway.Resolved) []string {
	if !r.Serves {
		return nil
	}
	var keys []string
	for _, l := range r.Listeners {
		domain := l.Hostname
		if domain == "" {
			domain = "*"
		}
		if l.Open && l.Table != "" {
			keys = append(keys, route.VirtualHostKey(l.Table, domain))
		}
	}
	return keys
}
