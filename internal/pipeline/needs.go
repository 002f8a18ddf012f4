package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// neededBackends indexes a table by the backends that its values need, by name and as `<gateway>|<backend>`. Its keys are Gateways, or
// begin with one and a `|`.
func neededBackends[V any](table *store.Table[V], name string, needs func(V) *ir.Needs) (byBackend, byGatewayBackend store.Source) {
	byBackend = store.NewIndex(table, name+".byBackend", func(_ string, value V) []string { return needs(value).Backends() })
	byGatewayBackend = store.NewIndex(table, name+".byGatewayBackend", func(key string, value V) []string {
		return ofGateway(key, needs(value).Backends())
	})
	return byBackend, byGatewayBackend
}

// ofGateway puts the Gateway of a key before each name.
func ofGateway(key string, names []string) []string {
	gateway, _ := splitKey(key)
	for i := range names {
		names[i] = gateway + "|" + names[i]
	}
	return names
}
