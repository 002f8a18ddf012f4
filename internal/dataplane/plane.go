package dataplane

import (
	"maps"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// Plane brings configuration to proxies. Its methods return at once: what takes time is done behind them. What proxies then prove goes to an [Observer], which a plane
// is made with.
type Plane interface {
	// Serve says how a Gateway is to be supplied, by this plane or another one. A plane that supplied it before goes on for as long as there are proxies that
	// depend on it: a fleet that changes over is rolled, and until the last of the old pods is gone both are in use.
	Serve(gateway ir.Gateway)
	// Leave says that a Gateway is gone, or has no proxies any more.
	Leave(gateway ir.Name)
	// Apply changes what the proxies of Gateways are to have, and returns the states that those of them are to have now that this plane names states for. It is told of all
	// Gateways, so that it has everything when one comes to be supplied by it.
	Apply(changes []xds.Change) map[string]string
	// ApplyEndpoints changes load assignments by name, which Gateways share.
	ApplyEndpoints(changes map[string]*xds.Resource)
}

// Observer is told which state a proxy is known to have. A plane that finds out what proxies refuse has more to say, see [xds.Observer].
type Observer interface {
	Connected(proxy xds.Identity)
	Disconnected(proxy xds.Identity)
	Holds(proxy xds.Identity, state string)
}

// Planes are all there are. Each is told everything, in order; the first has to know the states of all Gateways.
type Planes []Plane

// Serve passes on how a Gateway is to be supplied.
func (p Planes) Serve(gateway ir.Gateway) {
	for _, plane := range p {
		plane.Serve(gateway)
	}
}

// Leave passes on that a Gateway is gone.
func (p Planes) Leave(gateway ir.Name) {
	for _, plane := range p {
		plane.Leave(gateway)
	}
}

// Apply passes changes on, and returns the states that Gateways are to have.
func (p Planes) Apply(changes []xds.Change) map[string]string {
	states := map[string]string{}
	for _, plane := range p {
		maps.Copy(states, plane.Apply(changes))
	}
	return states
}

// ApplyEndpoints passes load assignments on.
func (p Planes) ApplyEndpoints(changes map[string]*xds.Resource) {
	for _, plane := range p {
		plane.ApplyEndpoints(changes)
	}
}
