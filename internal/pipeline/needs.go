package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// backendSources are the backends that anything needs, alone and with the Gateway that needs them.
type backendSources struct {
	names  []store.SourceOf[ir.Backend]
	byUser []store.SourceOf[ir.GatewayBackend]
}

// addBackends adds the backends that the values of a table need. Its keys are Gateways, or identities whose first part is one.
func addBackends[V any](to *backendSources, table *store.Table[V], name string, needs func(V) *ir.Needs) {
	to.names = append(to.names, store.NewIndexOf(table, name+".byBackend",
		func(_ string, value V) []ir.Backend { return needs(value).Backends() }))
	to.byUser = append(to.byUser, store.NewIndexOf(table, name+".byGatewayBackend", func(key string, value V) []ir.GatewayBackend {
		gateway := ir.ParseListenerID(key).Gateway
		var users []ir.GatewayBackend
		for _, backend := range needs(value).Backends() {
			users = append(users, ir.GatewayBackend{Gateway: gateway, Backend: backend})
		}
		return users
	}))
}

// secretsOf are the secrets of these names that a Gateway uses.
func secretsOf(gateway string, names []string) []ir.GatewaySecret {
	var secrets []ir.GatewaySecret
	for _, name := range names {
		secrets = append(secrets, ir.GatewaySecret{Gateway: gateway, Secret: name})
	}
	return secrets
}
