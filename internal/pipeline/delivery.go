package pipeline

import (
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
)

// resolveGateway resolves a Gateway, with the deliveries that are offered.
func (g *graph) resolveGateway(v *store.View, key string) gateway.Resolved {
	r := gateway.Resolve(v, g.objects, g.classes, key)
	if g.files {
		return r
	}
	return r.WithoutFiles()
}
