package pipeline

import (
	"slices"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// Proxies is where Envoy's resources go.
type Proxies interface {
	// Apply returns the states that the Gateways concerned are to have now.
	Apply(changes []xds.Change) map[string]string
	ApplyEndpoints(changes map[string]*xds.Resource)
}

// Fleets is where the wish for a proxy fleet goes.
type Fleets interface {
	Set(gateway ir.Gateway)
	// Hold says that a fleet stays as it is, because how it is to be run can not be used.
	Hold(gateway ir.Gateway)
	// Release says that a Gateway exists and has nothing for a fleet to do: only the fleet of that name may stay, none if it is empty.
	Release(gateway ir.Name, fleet ir.Fleet)
	// Delete says that a Gateway is gone.
	Delete(gateway ir.Name)
}

// Statuses is where the outcome of each object goes. Setting an outcome without parents, or ancestors, withdraws what was said of a route,
// or policy, before.
type Statuses interface {
	SetClass(key string, o outcome.Class)
	SetGateway(key string, o outcome.Gateway)
	// ReleaseGateway withdraws what was said of a Gateway that is no longer ours, as far as it was said of a generation before this one.
	ReleaseGateway(key string, generation int64)
	SetListenerSet(key string, o outcome.ListenerSet)
	// WithdrawListenerSet replaces what was said of a ListenerSet, if anything was, and forgets it.
	WithdrawListenerSet(key string, o outcome.ListenerSet)
	SetPolicy(kind store.Kind, key string, o outcome.Policy)
	SetRoute(kind store.Kind, key string, o outcome.Route)
	Forget(kind store.Kind, key string)
}

// Proofs is where it is known what proxies have acknowledged.
type Proofs interface {
	// Reach says which states Gateways are to have from now on, following changes that came in at that time. Outcomes are set after it.
	Reach(states map[string]string, since time.Time)
	// Refuse says that proxies of a Gateway refuse an object, or the named listeners of it if there are any, and why. Accept takes it back;
	// a new outcome does too, which of a route has to be that of another generation.
	Refuse(kind store.Kind, key, gateway string, listeners []string, reason string)
	Accept(kind store.Kind, key, gateway string)
	// Live says whether every ready proxy of a Gateway has acknowledged the last outcome of an object.
	Live(kind store.Kind, key, gateway string) bool
}

func (g *graph) collectChanges() {
	g.classes.CollectChanges()
	g.gateways.CollectChanges()
	g.routes.CollectChanges()
	g.routes.CollectReplaced()
	g.routeStatus.CollectChanges()
	g.tableListeners.CollectReplaced()
	g.gatewayStatus.CollectChanges()
	g.setStatus.CollectChanges()
	for _, policies := range g.policyOutcomes() {
		policies.outcomes.CollectChanges()
	}
	g.selections.CollectChanges()
	g.shared.fleets.CollectChanges()
	g.shared.sockets.CollectChanges()
	g.shared.tenants.CollectChanges()
	for _, out := range g.outputs() {
		out.table.CollectChanges()
	}
}

// outputs are all resources of Gateways, in the order in which proxies learn of them.
func (g *graph) outputs() []output {
	listener := func(key string) xds.Change {
		group, port := splitKey(key)
		change := xds.Change{Group: group, Type: xds.Listener, Name: group + "/" + port}
		p, _ := g.ports.Get(nil, key)
		change.Tables, change.Secrets, change.Scopes = listenerNeeds(p)
		return change
	}
	secret := func(key string) xds.Change {
		group, name := splitKey(key)
		return xds.Change{Group: group, Type: xds.Secret, Name: name}
	}
	return []output{
		{table: g.clusters, own: true, shared: true, describe: func(key string) xds.Change {
			group, name := splitKey(key)
			backend, _ := ir.ParseBackend(name)
			return xds.Change{Group: group, Type: xds.Cluster, Name: name, Endpoints: backend.EndpointsName()}
		}},
		{table: g.certificates, own: true, shared: true, describe: secret},
		{table: g.authorities, own: true, shared: true, describe: secret},
		{table: g.listeners, own: true, describe: listener},
		{table: g.shared.listeners, shared: true, describe: listener},
		{table: g.tables, own: true, shared: true, describe: func(key string) xds.Change {
			return xds.Change{Group: route.GatewayOf(key), Type: xds.RouteTable, Name: key}
		}},
		{table: g.virtualHosts, own: true, shared: true, describe: func(key string) xds.Change {
			table, domain := splitKey(key)
			return xds.Change{Group: route.GatewayOf(table), Type: xds.VirtualHost, Table: table, Name: domain}
		}},
	}
}

// listenerNeeds is what the proxy asks for before it opens a port.
func listenerNeeds(port ir.Port) (tables, secrets []string, scopes bool) {
	for _, chain := range port.Chains {
		switch {
		case chain.ByHost:
			scopes = true
		case chain.RouteTable != "":
			tables = append(tables, chain.RouteTable)
		}
		secrets = append(secrets, chain.Certificates...)
	}
	return tables, secrets, scopes
}

// publishFleets says which fleets should run, and how.
func (g *graph) publishFleets(fleets Fleets) {
	for _, class := range g.shared.fleets.TakeChanged() {
		switch shared, _ := g.shared.fleets.Get(nil, class); {
		case !shared.Serves:
			fleets.Delete(ir.SharedFleet(class))
		case shared.Held != "":
			fleets.Hold(shared.Gateway)
		default:
			fleets.Set(shared.Gateway)
		}
	}
	different := g.gateways.TakeChanged()
	for _, key := range g.shared.sockets.TakeChanged() {
		gateway, _ := splitKey(key)
		different = append(different, gateway)
	}
	slices.Sort(different)
	for _, key := range slices.Compact(different) {
		_, ok := g.gateways.Get(nil, key)
		r := g.held(nil)(key)
		switch {
		case !ok:
			fleets.Delete(ir.ParseName(key))
		case r.Serves && r.Held != "":
			fleets.Hold(r.Gateway)
		case r.Serves:
			fleets.Set(r.Gateway)
		default:
			fleets.Release(r.Gateway.Name, r.Gateway.Fleet)
		}
	}
}

// publishStatuses says what became of every object whose outcome is new.
func (g *graph) publishStatuses(statuses Statuses) {
	for _, key := range g.classes.TakeChanged() {
		if class, ok := g.classes.Get(nil, key); ok && class.Ours {
			statuses.SetClass(key, class.Outcome)
		} else {
			statuses.Forget(store.GatewayClass, key)
		}
	}
	for _, key := range g.gatewayStatus.TakeChanged() {
		o, ok := g.gatewayStatus.Get(nil, key)
		switch {
		case !ok:
			statuses.Forget(store.Gateway, key)
		case o.ours:
			statuses.SetGateway(key, o.outcome)
		default:
			statuses.ReleaseGateway(key, o.outcome.Generation)
		}
	}
	for _, key := range g.setStatus.TakeChanged() {
		switch o, ok := g.setStatus.Get(nil, key); {
		case !ok:
			statuses.Forget(store.ListenerSet, key)
		case o.ours:
			statuses.SetListenerSet(key, o.outcome)
		default:
			statuses.WithdrawListenerSet(key, o.outcome)
		}
	}
	for _, policies := range g.policyOutcomes() {
		policies.publish(statuses)
	}
	g.publishRoutes(statuses)
}

// policyOutcomes are what became of the policies of one kind.
type policyOutcomes struct {
	kind     store.Kind
	outcomes *store.Table[outcome.Policy]
}

// policyOutcomes are what became of all policies, and of XBackends, whose status is alike.
func (g *graph) policyOutcomes() []policyOutcomes {
	return []policyOutcomes{
		{store.BackendTLSPolicy, g.policyStatus},
		{store.XBackendTrafficPolicy, g.trafficStatus},
		{store.XBackend, g.xbackendStatus},
		{store.XTelemetryPolicy, g.telemetryStatus},
	}
}

func (p policyOutcomes) publish(statuses Statuses) {
	for _, key := range p.outcomes.TakeChanged() {
		if o, ok := p.outcomes.Get(nil, key); ok {
			statuses.SetPolicy(p.kind, key, o)
		} else {
			statuses.Forget(p.kind, key)
		}
	}
}
