package app

import (
	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/identity"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// xdsDelivery is the data plane whose proxies get their configuration from the xDS server. It holds the resources of every Gateway,
// whatever its delivery: the files plane reads them here, and old pods keep their configuration while a fleet changes its delivery.
type xdsDelivery struct {
	*xds.Cache
	identities *identity.Fleets
}

var _ dataplane.Plane = xdsDelivery{}

// Serve accepts the proxies of a Gateway that run where its class places them.
func (s xdsDelivery) Serve(gateway ir.Gateway) {
	s.identities.Serve(gateway.Name, gateway.Fleet.UID, identity.ServiceAccount{Namespace: gateway.Fleet.Placed, Name: gateway.Fleet.Name})
}

// Leave rejects the proxies of a Gateway.
func (s xdsDelivery) Leave(gateway ir.Name) { s.identities.Leave(gateway) }
