package pipeline

import (
	"cmp"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
)

const (
	stageTenant         = "tenant"
	stageSockets        = "sockets"
	stageSocket         = "socket"
	stageSharedFleet    = "shared fleet"
	stageSharedListener = "translate shared listener"
)

// sharing is what Gateways have in common that share their proxies.
type sharing struct {
	// fleets are those that are shared, by class; tenants are the Gateways that share one, and byClass finds them.
	fleets  *store.Table[gateway.SharedFleet]
	tenants *store.Table[gateway.Tenant]
	byClass *store.Index[gateway.Tenant]
	// sockets is where the shared proxies listen for a port, `<gateway>|<port>`; zero where they are not shared.
	sockets *store.Table[int32]
	// listeners is what they are told to do there.
	listeners *store.Table[translation]
}

// share lists the stages that find out who shares proxies, and tell their ports apart. One that comes or goes moves nobody else's.
func (g *graph) share(byPort store.Source) {
	g.shared.tenants = memo.Derive(g.memo, stageTenant, from(g.gateways), deepEqual[gateway.Tenant], func(v *store.View, key string) gateway.Tenant {
		r, _ := g.gateways.Get(v, key)
		return gateway.TenantOf(v, g.objects, r)
	})
	g.shared.byClass = store.NewIndex(g.shared.tenants, "tenant.byClass", func(_ string, t gateway.Tenant) []string {
		if t.Class == "" {
			return nil
		}
		return []string{t.Class}
	})
	sockets := memo.Derive(g.memo, stageSockets, from(g.shared.byClass), deepEqual[map[string]int32], func(v *store.View, class string) map[string]int32 {
		all := map[string]gateway.Tenant{}
		for _, key := range g.shared.byClass.Keys(v, class) {
			all[key], _ = g.shared.tenants.Get(v, key)
		}
		resolved, _ := g.classes.Get(v, class)
		return gateway.Sockets(all, resolved.PortsPerNamespace)
	})
	g.shared.sockets = memo.Derive(g.memo, stageSocket, from(byPort), deepEqual[int32], func(v *store.View, key string) int32 {
		name, _ := splitKey(key)
		tenant, _ := g.shared.tenants.Get(v, name)
		if tenant.Class == "" {
			return 0
		}
		all, _ := sockets.Get(v, tenant.Class)
		return all[key]
	})
	staying := store.NewIndex(g.shared.tenants, "tenant.staying", func(_ string, t gateway.Tenant) []string {
		if t.Class == "" || t.Leaving {
			return nil
		}
		return []string{t.Class}
	})
	g.shared.fleets = memo.Derive(g.memo, stageSharedFleet, from(staying), deepEqual[gateway.SharedFleet],
		func(v *store.View, class string) gateway.SharedFleet {
			shared := gateway.Shared(v, g.objects, g.classes, staying.Len(v, class), class)
			shared.Held = cmp.Or(shared.Held, render.PatchFlaw(shared.Gateway))
			return shared
		})
}

// translateShared lists the stage that makes the listeners of shared proxies.
func (g *graph) translateShared() {
	g.shared.listeners = memo.Derive(g.memo, stageSharedListener, from(g.ports), sameTranslation, func(v *store.View, key string) translation {
		socket, _ := g.shared.sockets.Get(v, key)
		port, _ := g.ports.Get(v, key)
		if socket == 0 || len(port.Chains) == 0 {
			return translation{}
		}
		port.Bound = socket
		port.LoggedAs, _ = splitKey(key)
		return g.listener(v, key, port)
	})
}

// listener is what proxies do at a port.
func (g *graph) listener(v *store.View, key string, port ir.Port) translation {
	name, _ := splitKey(key)
	tracing, _ := g.tracing.Get(v, name)
	return checked(func() *listenerv3.Listener {
		return listenertranslate.Bind(listenertranslate.Listener(ir.ParseName(name), port, tracing), g.families)
	})
}

// bound is a Gateway with the sockets that its ports lead to, where it shares its proxies.
func (g *graph) bound(v *store.View, r gateway.Resolved) gateway.Resolved {
	if r.Gateway.Fleet.Shared == (ir.Name{}) || !r.Serves {
		return r
	}
	class, _ := g.classes.Get(v, r.Gateway.Fleet.Class)
	return r.Bind(func(port string) int32 {
		socket, _ := g.shared.sockets.Get(v, r.Gateway.Name.String()+"|"+port)
		return socket
	}, class.PortsPerNamespace)
}

// served are the Gateways whom the proxies of a group serve.
func (g *graph) served(group string) []string {
	if name := ir.ParseName(group); name == ir.SharedFleet(name.Name) {
		return g.shared.byClass.Keys(nil, name.Name)
	}
	return []string{group}
}
