package pipeline

import (
	"cmp"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/resolve/fleet"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	stageTenant         = "tenant"
	stageSockets        = "sockets"
	stageSocket         = "socket"
	stageSharedFleet    = "shared fleet"
	stageSharedListener = "translate shared listener"
)

// sharing has the tables of shared fleets.
type sharing struct {
	// fleets are those that are shared, by class; tenants are the Gateways that share one, and byClass finds them.
	fleets  *store.Table[fleet.SharedFleet]
	tenants *store.Table[fleet.Tenant]
	byClass *store.Index[fleet.Tenant]
	// sockets is where the shared proxies listen for a port; zero where they are not shared.
	sockets *store.TableOf[ir.PortID, int32]
	// listeners is what they are told to do there.
	listeners *store.TableOf[ir.PortID, translation]
}

// addTenantStage adds the stage that finds the Gateways of each shared fleet.
func (g *graph) addTenantStage() {
	g.shared.tenants = memo.Derive(g.memo, stageTenant, from(g.gateways), deepEqual[fleet.Tenant],
		func(v *store.View, key string) fleet.Tenant {
			r, _ := g.gateways.Get(v, key)
			return r.Tenant(v, g.objects)
		})
}

// addSharedFleetStages adds the stages that allocate the target ports of the Gateways of each shared fleet. A Gateway that comes or goes
// does not move the ports of others.
func (g *graph) addSharedFleetStages(byPort *store.IndexOf[ir.PortID, gateway.Resolved]) {
	g.shared.byClass = store.NewIndex(g.shared.tenants, "tenant.byClass", func(_ string, t fleet.Tenant) []string {
		if t.Class == "" {
			return nil
		}
		return []string{t.Class}
	})
	sockets := memo.Derive(g.memo, stageSockets, from(g.shared.byClass), deepEqual[map[ir.PortID]int32],
		func(v *store.View, class string) map[ir.PortID]int32 {
			all := map[string]fleet.Tenant{}
			for _, key := range g.shared.byClass.Keys(v, class) {
				all[key], _ = g.shared.tenants.Get(v, key)
			}
			resolved, _ := g.classes.Get(v, class)
			return fleet.AllocatePorts(all, resolved.PortsPerNamespace)
		})
	ports := typed[ir.PortID](byPort)
	g.shared.sockets = memo.DeriveOf(g.memo, stageSocket, ir.ParsePortID, ports, deepEqual[int32], func(v *store.View, id ir.PortID) int32 {
		tenant, _ := g.shared.tenants.Get(v, id.Gateway)
		if tenant.Class == "" {
			return 0
		}
		all, _ := sockets.Get(v, tenant.Class)
		return all[id]
	})
	active := store.NewIndex(g.shared.tenants, "tenant.active", func(_ string, t fleet.Tenant) []string {
		if t.Class == "" || t.Leaving {
			return nil
		}
		return []string{t.Class}
	})
	g.shared.fleets = memo.Derive(g.memo, stageSharedFleet, from(active), deepEqual[fleet.SharedFleet],
		func(v *store.View, class string) fleet.SharedFleet {
			shared := fleet.Shared(v, g.objects, g.classes, active.Len(v, class), class)
			shared.Frozen = cmp.Or(shared.Frozen, render.PatchError(shared.Gateway))
			return shared
		})
}

// addSharedListenerStage adds the stage that makes the listeners of shared proxies.
func (g *graph) addSharedListenerStage() {
	ports := typed[ir.PortID](g.ports)
	g.shared.listeners = memo.DeriveOf(g.memo, stageSharedListener, ir.ParsePortID, ports, sameTranslation,
		func(v *store.View, id ir.PortID) translation {
			socket, _ := g.shared.sockets.Get(v, id)
			if socket == 0 {
				return translation{}
			}
			share := func(port *ir.Port) { port.TargetPort, port.LoggedAs = socket, id.Gateway }
			return g.listener(v, id, share, func(c filterChain) []*listenerv3.FilterChain { return c.shared })
		})
}

// bound is a Gateway with the sockets that its ports lead to, where it shares its proxies.
func (g *graph) bound(v *store.View, r gateway.Resolved) gateway.Resolved {
	if r.Gateway.Fleet.Shared == (ir.Name{}) || !r.Serves {
		return r
	}
	class, _ := g.classes.Get(v, r.Gateway.Fleet.Class)
	return r.Bind(func(port string) int32 {
		socket, _ := g.shared.sockets.Get(v, ir.PortID{Gateway: r.Gateway.Name.String(), Port: port})
		return socket
	}, class.PortsPerNamespace)
}

// served are the Gateways whom the proxies of a group serve.
func (g *graph) served(group xds.GroupID) []string {
	name := ir.Name(group)
	if name == ir.SharedFleet(name.Name) {
		return g.shared.byClass.Keys(nil, name.Name)
	}
	return []string{name.String()}
}
