package app

import (
	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/identity"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// streams is the data plane whose proxies take their configuration from the xDS server. It has everything of all Gateways, whichever way
// they are supplied: other planes read it from here, and proxies that are about to be replaced by such of another plane still find theirs.
type streams struct {
	*xds.Cache
	identities *identity.Fleets
}

var _ dataplane.Plane = streams{}

// Serve lets the proxies of a Gateway in that run where its class places them.
func (s streams) Serve(gateway ir.Gateway) {
	s.identities.Serve(gateway.Name, gateway.Fleet.UID, identity.ServiceAccount{Namespace: gateway.Fleet.Placed, Name: gateway.Fleet.Name})
}

// Leave lets nobody in for a Gateway.
func (s streams) Leave(gateway ir.Name) { s.identities.Leave(gateway) }
