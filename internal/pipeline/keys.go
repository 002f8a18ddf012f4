package pipeline

import (
	"strconv"
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

// kindKey names an object among those of several kinds: `<kind>/<namespace>/<name>`.
func kindKey[V any](kind store.Kind) func(key string, _ V) []string {
	return func(key string, _ V) []string { return []string{string(kind) + "/" + key} }
}

// splitRouteKey is the inverse of kindKey.
func splitRouteKey(key string) (store.Kind, string) {
	kind, rest, _ := strings.Cut(key, "/")
	return store.Kind(kind), rest
}

// resolveRoute resolves a route of either kind.
func resolveRoute(v *store.View, in route.Inputs, key string) route.Resolved {
	kind, rest := splitRouteKey(key)
	if kind == store.GRPCRoute {
		return route.GRPC(v, in, rest)
	}
	return route.HTTP(v, in, rest)
}

func portKeys(key string, r gateway.Resolved) []string {
	var keys []string
	for _, port := range r.Gateway.Ports {
		keys = append(keys, key+"|"+strconv.Itoa(int(port.Number)))
	}
	return keys
}

func tableKeys(_ string, r gateway.Resolved) []string {
	var keys []string
	for _, port := range r.Gateway.Ports {
		for _, chain := range port.Chains {
			keys = append(keys, chain.RouteTable)
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
		if l.Open {
			keys = append(keys, route.VirtualHostKey(l.Table, domain))
		}
	}
	return keys
}
