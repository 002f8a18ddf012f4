package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// Proxies is where Envoy's resources go.
type Proxies interface {
	// Apply returns the states that the Gateways concerned are to have now.
	Apply(changes []xds.Change) map[xds.GroupID]string
	ApplyEndpoints(changes map[string]*xds.Resource)
	// Own says whose the resources of a group are that follow: the UID of the Gateway that has the name now, empty if there is none.
	Own(group xds.GroupID, owner string)
}

// Fleets receives the desired proxy fleets.
type Fleets interface {
	Set(gateway ir.Gateway)
	// Freeze says that a fleet stays as it is, because how it is to be run cannot be used.
	Freeze(gateway ir.Gateway)
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

// Convergence tracks what proxies have acknowledged.
type Convergence interface {
	// Reach says which states Gateways are to have from now on, following changes that came in at that time. Outcomes are set after it.
	Reach(states map[xds.GroupID]string, since time.Time)
	// Reject says what proxies of a Gateway reject of an object. Accept takes it back; a new outcome does too, which of a route has to be
	// that of another generation.
	Reject(kind store.Kind, key, gateway string, r outcome.Rejection)
	Accept(kind store.Kind, key, gateway string)
	// Live says whether every ready proxy of a Gateway has acknowledged the last outcome of an object.
	Live(kind store.Kind, key, gateway string) bool
	// Acked counts the ready proxies of a group but these, and those of them that have acknowledged a state, or a later one. An empty state
	// is any.
	Acked(group xds.GroupID, state string, but map[string]struct{}) (acked, ready int)
	// Knows says whether a proxy of a group is connected to a replica.
	Knows(group xds.GroupID, pod string) bool
	// NACKed says that a proxy of a group has sent a NACK, and Reported how many of each group objects report now, as far as they are
	// affected. Nothing of a group converges in between.
	NACKed(group xds.GroupID)
	Reported(nacks map[xds.GroupID]int)
	// OnDisconnect says what to call when a proxy has disconnected from a replica. That returns at once.
	OnDisconnect(ended func())
}

func (g *graph) collectChanges() {
	g.classes.CollectChanges()
	g.gateways.CollectChanges()
	g.http3.CollectChanges()
	g.routes.CollectChanges()
	g.routes.CollectReplaced()
	g.routeStatus.CollectChanges()
	g.gatewayStatus.CollectChanges()
	g.setStatus.CollectChanges()
	for _, policies := range g.policyOutcomes {
		policies.outcomes.CollectChanges()
	}
	for _, kind := range g.selections {
		kind.table.CollectChanges()
	}
	g.rateLimits.CollectChanges()
	g.shared.fleets.CollectChanges()
	g.shared.sockets.CollectChanges()
	g.shared.tenants.CollectChanges()
	for _, out := range g.outputs() {
		out.table.CollectChanges()
	}
	g.apart.CollectChanges()
}

// ownGroup is the group of a Gateway's dedicated proxies.
func ownGroup(gateway string) xds.GroupID { return xds.GroupID(ir.ParseName(gateway)) }

// outputs are all resources of Gateways, in the order in which proxies learn of them.
func (g *graph) outputs() []output {
	listener := func(key string) xds.Change {
		id := ir.ParsePortID(key)
		change := xds.Change{Group: ownGroup(id.Gateway), Type: xds.Listener, Name: id.ListenerName()}
		p, _ := g.servedPort(nil, id)
		change.Tables, change.Secrets, change.Scopes = listenerNeeds(p)
		change.Origins = originNames(g.listenerOrigins(id, p))
		return change
	}
	secret := func(key string) xds.Change {
		id := ir.ParseGatewaySecret(key)
		return xds.Change{
			Group: ownGroup(id.Gateway), Type: xds.Secret, Name: id.Secret, Origins: originNames(g.secretOrigins(id)),
		}
	}
	return []output{
		{table: g.clusters.Table, own: true, shared: true, describe: func(key string) xds.Change {
			user := ir.ParseGatewayBackend(key)
			return xds.Change{
				Group: ownGroup(user.Gateway), Type: xds.Cluster, Name: user.Backend.String(),
				Endpoints: user.Backend.Endpoints().String(), Origins: originNames(g.clusterOrigins(user)),
			}
		}},
		{table: g.certificates.Table, own: true, shared: true, describe: secret},
		{table: g.authorities.Table, own: true, shared: true, describe: secret},
		{table: g.credentials.Table, own: true, shared: true, describe: secret},
		{table: g.listeners.Table, own: true, describe: listener},
		{table: g.shared.listeners.Table, shared: true, describe: listener},
		{table: g.tables.Table, own: true, shared: true, describe: func(key string) xds.Change {
			return xds.Change{Group: ownGroup(ir.ParseTableID(key).Gateway), Type: xds.RouteTable, Name: key}
		}},
		{table: g.virtualHosts.Table, own: true, shared: true, describe: func(key string) xds.Change {
			id := ir.ParseHostID(key)
			return xds.Change{Group: ownGroup(id.Table.Gateway), Type: xds.VirtualHost, Table: id.Table.String(), Name: id.Domain}
		}},
	}
}

// listenerNeeds is what the proxy asks for before it opens a port.
func listenerNeeds(port ir.Port) (tables, secrets []string, scopes bool) {
	for _, chain := range port.Chains {
		if chain.Client().FailClosed {
			// It closes connections, and asks for neither routes nor certificates.
			continue
		}
		switch {
		case chain.ByHost:
			scopes = true
		case !chain.RouteTable.IsZero():
			tables = append(tables, chain.RouteTable.String())
		}
		secrets = append(secrets, chain.Certificates...)
		clients := cmp.Or(chain.Clients, chain.Client().TLS.Clients)
		// Without a certificate it closes connections.
		if len(chain.Certificates) > 0 && clients != nil && clients.Authorities != "" {
			secrets = append(secrets, clients.Authorities)
		}
	}
	return tables, secrets, scopes
}

// publishOwners says whose the groups of Gateways are, and returns the Gateways that have changed. Groups of shared fleets have no owner:
// their Gateways come and go, and a class is the operator's.
func (g *graph) publishOwners(proxies Proxies) []string {
	changed := g.gateways.TakeChanged()
	for _, key := range changed {
		r, _ := g.gateways.Get(nil, key)
		proxies.Own(ownGroup(key), r.Gateway.Fleet.UID)
	}
	return changed
}

// publishFleets says which fleets should run, and how. The Gateways are those that have changed.
func (g *graph) publishFleets(fleets Fleets, gateways []string) {
	for _, class := range g.shared.fleets.TakeChanged() {
		switch shared, _ := g.shared.fleets.Get(nil, class); {
		case !shared.Serves:
			fleets.Delete(ir.SharedFleet(class))
		case shared.Frozen != "":
			fleets.Freeze(shared.Gateway)
		default:
			fleets.Set(shared.Gateway)
		}
	}
	different := append(slices.Clone(gateways), g.http3.TakeChanged()...)
	for _, key := range g.shared.sockets.TakeChanged() {
		different = append(different, key.Gateway)
	}
	slices.Sort(different)
	for _, key := range slices.Compact(different) {
		_, ok := g.gateways.Get(nil, key)
		r := g.effectiveGateway(nil)(key)
		switch {
		case !ok:
			fleets.Delete(ir.ParseName(key))
		case r.Serves && r.Frozen != "":
			fleets.Freeze(r.Gateway)
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
	for _, policies := range g.policyOutcomes {
		policies.publish(statuses)
	}
	g.publishRoutes(statuses)
}
