package pipeline

import (
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
)

const stageCredential = "translate credential"

// addCredentialStage adds the stage that makes the secrets of policies, which are kept apart from routes.
func (g *graph) addCredentialStage() {
	g.secretUsers.routes = store.NewIndexOf(g.routes, "route.byCredential", func(_ string, r route.Resolved) []ir.GatewaySecret {
		return r.GatewayCredentials()
	})
	g.secretUsers.layers = store.NewIndexOf(g.inherited.listeners.Table, "listener policies.byCredential",
		func(key string, l *inherit.Layer) []ir.GatewaySecret {
			return secretsOf(ir.ParseListenerID(key).Gateway, l.Needs().Credentials())
		})
	sources := typed[ir.GatewaySecret](g.secretUsers.routes, g.secretUsers.layers)
	g.credentials = memo.DeriveOf(g.memo, stageCredential, ir.ParseGatewaySecret, sources, sameTranslation,
		func(v *store.View, id ir.GatewaySecret) translation {
			credential, ok := refs.Credential(v, g.objects, id.Secret)
			if !ok {
				return translation{}
			}
			return checked(func() *tlsv3.Secret { return listenertranslate.Credential(credential) })
		})
}
