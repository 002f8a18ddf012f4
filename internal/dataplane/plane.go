package dataplane

import (
	"maps"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// Plane delivers configuration to proxies. Its methods return at once: what takes time is done in the background. What proxies
// acknowledge goes to an [Observer], which a plane is made with.
type Plane interface {
	// Serve sets the delivery of a Gateway, by this plane or another one. A plane that served it before continues while proxies depend on
	// it: a fleet that changes its delivery is rolled, and both deliveries are in use until the last old pod is gone.
	Serve(gateway ir.Gateway)
	// Leave is for a Gateway that is gone, or has no proxies any more.
	Leave(gateway ir.Name)
	// Own says whose the resources are that follow: a Gateway that was made again under its name has another UID, and the proxies of the one
	// before get nothing of it. The UID is empty for a Gateway that is gone.
	Own(group xds.GroupID, uid string)
	// Apply changes the resources of Gateways. It returns the new states of those for which this plane names states. It gets the changes
	// of all Gateways, so that it is complete when one changes to this delivery.
	Apply(changes []xds.Change) map[xds.GroupID]string
	// ApplyEndpoints changes load assignments by name, which Gateways share.
	ApplyEndpoints(changes map[string]*xds.Resource)
}

// Observer gets the state that a proxy is known to have. A plane that finds out what proxies refuse has more to say, see [xds.Observer].
type Observer interface {
	Connected(proxy xds.Identity)
	Disconnected(proxy xds.Identity)
	Holds(proxy xds.Identity, state string)
}

// Planes are all data planes. Each gets every call, in order. The first must know the states of all Gateways.
type Planes []Plane

// Serve sets the delivery of a Gateway.
func (p Planes) Serve(gateway ir.Gateway) {
	for _, plane := range p {
		plane.Serve(gateway)
	}
}

// Leave is for a Gateway that is gone.
func (p Planes) Leave(gateway ir.Name) {
	for _, plane := range p {
		plane.Leave(gateway)
	}
}

// Own says whose the resources of a group are.
func (p Planes) Own(group xds.GroupID, uid string) {
	for _, plane := range p {
		plane.Own(group, uid)
	}
}

// Apply passes changes on, and returns the states that Gateways are to have.
func (p Planes) Apply(changes []xds.Change) map[xds.GroupID]string {
	states := map[xds.GroupID]string{}
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
