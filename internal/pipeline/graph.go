package pipeline

import (
	"reflect"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/client"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/sharedfleet"
	"github.com/gatewright/gatewright/internal/store"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
)

// graph is every stage of the configuration lane, from objects to what proxies, fleets and conditions should be.
type graph struct {
	store   *store.Store
	memo    *memo.Graph
	objects *store.Objects
	// files says that delivery Files is offered. It never changes.
	files bool
	// families are those of the cluster's pods. They never change.
	families ir.Families

	classes  *store.Table[class.Resolved]
	gateways *store.Table[gateway.Resolved]
	routes   *store.Table[route.Resolved]
	// routeStatus is what became of each route, and idle the endpoints of which there are none.
	routeStatus *store.Table[outcome.Route]
	idle        *store.TableOf[ir.Endpoints, bool]
	// cutEndpoints are those of which there are more than are served, and cut has the same.
	cutEndpoints *store.TableOf[ir.Endpoints, bool]
	cut          map[ir.Endpoints]struct{}
	// tableListeners are the listeners of each route table.
	tableListeners *store.TableOf[ir.TableID, []gateway.ParentListener]
	// substitutes are what proxies serve instead of what they reject.
	substitutes quarantine.Substitutes
	// byVirtualHost finds the routes of a virtual host, byListener those of a listener, byBackend those that use a backend, and
	// byGatewayBackend those that use it at a Gateway.
	byVirtualHost    *store.IndexOf[ir.HostID, route.Resolved]
	byListener       *store.IndexOf[ir.ListenerID, route.Resolved]
	byBackend        *store.IndexOf[ir.Backend, route.Resolved]
	byGatewayBackend *store.IndexOf[ir.GatewayBackend, route.Resolved]

	// secretUsers finds what needs a secret.
	secretUsers secretUsers

	budgets *budgets
	// hostInputs is what virtual hosts are made of, and hidingReports has the clusters whose endpoints report their load to proxies alone.
	hostInputs    route.Hosts
	hidingReports *store.IndexOf[ir.GatewayBackend, translation]

	hosts    *store.TableOf[ir.HostID, ir.VirtualHost]
	ports    *store.TableOf[ir.PortID, ir.Port]
	policies *store.Table[policy.ResolvedBackendTLS]
	tls      backendTLS

	// patchProblems is what is wrong with the patches of a Gateway's parameters.
	patchProblems *store.Table[string]
	gatewayStatus *store.Table[gatewayOutcome]
	setStatus     *store.Table[setOutcome]
	// policyOutcomes has the outcomes of each kind of policy; see addPolicies.
	policyOutcomes []policyOutcomes
	retryBudgets   *store.TableOf[ir.Backend, *ir.RetryBudget]
	// usersByTarget finds the backends of an object, with the Gateways that use them.
	usersByTarget  *store.IndexOf[ir.BackendTarget, ir.BackendTarget]
	xbackends      *store.Table[backend.ResolvedXBackend]
	xbackendStatus *store.Table[outcome.Policy]
	fixedBackends  *store.Table[backend.Fixed]
	pools          *store.Table[backend.ResolvedInferencePool]
	selections     []selections

	clientSettings *store.Table[client.Effective]
	// http3 has the ports of a Gateway that serve HTTP/3.
	http3 *store.Table[[]int32]
	// inherited are the policies whose settings routes and backends inherit.
	inherited inherited

	tracing *store.Table[*ir.Tracing]
	// rateLimits has the global limits of each policy, and rateLimited says that they have been published once.
	rateLimits  *store.Table[*ir.GlobalRateLimit]
	rateLimited bool

	shared sharing
	fanout *sharedfleet.Fanout

	filterChains *store.TableOf[ir.ChainID, filterChain]
	listenerRoom listenerRoom
	listeners    *store.TableOf[ir.PortID, translation]
	tables       *store.TableOf[ir.TableID, translation]
	virtualHosts *store.TableOf[ir.HostID, translation]
	apart        *store.TableOf[quarantine.GroupHost, apartHost]
	clusters     *store.TableOf[ir.GatewayBackend, translation]
	certificates *store.TableOf[ir.GatewaySecret, translation]
	authorities  *store.TableOf[ir.GatewaySecret, translation]
	credentials  *store.TableOf[ir.GatewaySecret, translation]
}

// gatewayOutcome is what became of a Gateway, if it is ours.
type gatewayOutcome struct {
	ours    bool
	outcome outcome.Gateway
}

// setOutcome is what became of a ListenerSet, if its Gateway is ours.
type setOutcome struct {
	ours    bool
	outcome outcome.ListenerSet
}

// Stages, each by the name that reports count it by. Other files name the stages that they add.
const (
	stageClass          = "class"
	stageGateway        = "gateway"
	stageParent         = "parent"
	stageTableListeners = "table listeners"
	stagePatches        = "patches"
	stageStatus         = "gateway status"
	stageSetStatus      = "listener set status"
	stagePort           = "port"
)

// newGraph lists the stages. Each reads only what stands above it.
func newGraph(options ...memo.Option) *graph {
	s := store.New()
	g := &graph{
		store: s, objects: store.NewObjects(s), fanout: sharedfleet.NewFanout(),
		substitutes: quarantine.NewSubstitutes(s), idle: store.NewTableOf[ir.Endpoints, bool](s, "idle endpoints", ir.ParseEndpoints),
		cutEndpoints: store.NewTableOf[ir.Endpoints, bool](s, "cut endpoints", ir.ParseEndpoints), cut: map[ir.Endpoints]struct{}{},
	}
	g.memo = memo.New(s, options...)
	g.classes = memo.Derive(g.memo, stageClass, from(g.objects.GatewayClasses), deepEqual[class.Resolved],
		func(v *store.View, key string) class.Resolved { return class.Resolve(v, g.objects, key) })

	g.gateways = memo.Derive(g.memo, stageGateway, from(g.objects.Gateways), deepEqual[gateway.Resolved],
		g.resolveGateway, memo.OnPanic(g.brokenGateway))
	byPort := store.NewIndexOf(g.gateways, "gateway.byPort", portsOf)
	byTable := store.NewIndexOf(g.gateways, "gateway.byTable", tablesOf)
	byListenerTable := store.NewIndexOf(g.gateways, "gateway.byListenerTable",
		func(_ string, r gateway.Resolved) []ir.TableID { return r.Tables() })
	byDomain := store.NewIndexOf(g.gateways, "gateway.byDomain", ownHosts)
	byCertificate := store.NewIndexOf(g.gateways, "gateway.byCertificate",
		func(_ string, r gateway.Resolved) []ir.GatewaySecret { return r.Certificates() })
	byAuthorities := store.NewIndexOf(g.gateways, "gateway.byAuthorities",
		func(_ string, r gateway.Resolved) []ir.GatewaySecret { return r.Authorities() })

	g.addRateLimitStages()
	g.addInheritedKinds()
	g.addTenantStage()
	g.addLayerStages()
	g.addClientPolicyStages()
	parents := memo.Derive(g.memo, stageParent, from(g.gateways, kindKeys(g.objects.ListenerSets, store.ListenerSet)),
		deepEqual[gateway.Parent],
		func(v *store.View, key string) gateway.Parent {
			return g.withClosed(v, g.withListenerSettings(v, gateway.Listeners(v, g.objects, g.gateways, key)))
		})
	g.tableListeners = memo.DeriveOf(g.memo, stageTableListeners, ir.ParseTableID, typed[ir.TableID](byListenerTable),
		deepEqual[[]gateway.ParentListener], g.listenersServed)

	byScope := store.NewIndex(g.gateways, "gateway.byScope", func(_ string, r gateway.Resolved) []string { return r.Scopes() })
	routes := from(
		kindKeys(g.objects.HTTPRoutes, store.HTTPRoute), kindKeys(g.objects.GRPCRoutes, store.GRPCRoute),
		kindKeys(g.objects.TLSRoutes, store.TLSRoute), kindKeys(g.objects.TCPRoutes, store.TCPRoute),
		kindKeys(g.objects.UDPRoutes, store.UDPRoute),
	)
	inputs := route.Inputs{Objects: g.objects, Parents: parents, Defaults: byScope, Policies: g.inherited.routes, Size: routetranslate.Size}
	g.routes = g.addConflictStages(routes, g.addRouteStage(routes, inputs))
	byListener := store.NewIndexOf(g.routes, "route.byListener", func(_ string, r route.Resolved) []ir.ListenerID { return r.Listeners() })
	g.byListener = byListener
	byDomainOfRoute := store.NewIndexOf(g.routes, "route.byHost", func(_ string, r route.Resolved) []ir.DomainID { return r.Domains() })
	g.byVirtualHost = store.NewIndexOf(g.routes, "route.byVirtualHost",
		func(_ string, r route.Resolved) []ir.HostID { return r.VirtualHosts() })
	g.byBackend = store.NewIndexOf(g.routes, "route.byBackend", func(_ string, r route.Resolved) []ir.Backend { return r.AllBackends() })
	g.byGatewayBackend = store.NewIndexOf(g.routes, "route.byGatewayBackend",
		func(_ string, r route.Resolved) []ir.GatewayBackend { return r.GatewayBackends() })

	g.addVariantStages(byListener)
	g.addSharedFleetStages(byPort)
	g.addPatchStage()
	g.addGatewayStatusStages(byListener)
	g.hosts = g.addVirtualHostStages(typed[ir.HostID](g.byVirtualHost, byDomain), byDomainOfRoute, byListener)
	byShadowed := store.NewIndex(g.hosts.Table, "virtual host.shadowed", shadowedRoutes)

	g.addPortStage(byPort, byListener)
	g.addTelemetryStages()
	backends := g.backends()
	g.addXBackendStages()
	g.addFixedBackendStages()
	g.addInferencePoolStage()
	byBackendAuthorities, byBackendCertificate := g.addBackendTLSStages(backends)
	g.addBackendTrafficStages(backends)
	g.addInheritedStatusStages()
	g.addXBackendStatusStages()
	g.addFixedBackendStatusStage()
	g.addInferencePoolStatusStages()
	g.addRouteStatusStages(routes, byShadowed)
	g.addTranslationStages(byTable, backends)
	byClientAuthorities := store.NewIndexOf(g.clientSettings, "client settings.byAuthorities", clientAuthorities)
	byHTTP3Certificate := store.NewIndexOf(g.ports.Table, "port.byHTTP3Certificate", http3Certificates)
	g.addSecretStages(typed[ir.GatewaySecret](byCertificate, byBackendCertificate, byHTTP3Certificate),
		typed[ir.GatewaySecret](byAuthorities, byBackendAuthorities, byClientAuthorities))
	g.addCredentialStage()
	g.collectChanges()
	return g
}

// addGatewayStatusStages adds the stages that say what became of Gateways and ListenerSets.
func (g *graph) addGatewayStatusStages(byListener *store.IndexOf[ir.ListenerID, route.Resolved]) {
	// The standard: routes that are not accepted do not count.
	closed := store.NewIndexOf(g.routes, "route.notAccepted", func(_ string, r route.Resolved) []ir.ListenerID { return r.NotAccepted() })
	count := func(v *store.View, id ir.ListenerID) int { return byListener.Len(v, id) - closed.Len(v, id) }
	g.gatewayStatus = memo.Derive(g.memo, stageStatus, from(g.gateways), deepEqual[gatewayOutcome],
		func(v *store.View, key string) gatewayOutcome {
			attached := func(listener string) int { return count(v, ir.ListenerID{Gateway: key, Listener: listener}) }
			o, ours := gateway.Status(v, g.objects, g.effectiveGateway(v), attached, key)
			return gatewayOutcome{ours: ours, outcome: o}
		})
	g.setStatus = memo.Derive(g.memo, stageSetStatus, from(g.objects.ListenerSets), deepEqual[setOutcome],
		func(v *store.View, key string) setOutcome {
			attached := func(gateway, listener string) int {
				return count(v, ir.ListenerID{Gateway: gateway, Listener: listener})
			}
			o, ours := gateway.SetStatus(v, g.objects, g.effectiveGateway(v), attached, key)
			return setOutcome{ours: ours, outcome: o}
		})
}

// addPortStage adds the stage that puts together what happens at a port.
func (g *graph) addPortStage(byPort *store.IndexOf[ir.PortID, gateway.Resolved], byListener *store.IndexOf[ir.ListenerID, route.Resolved]) {
	byHTTP3 := store.NewIndexOf(g.http3, "http3 ports.byPort", http3Ports)
	g.ports = memo.DeriveOf(g.memo, stagePort, ir.ParsePortID, typed[ir.PortID](byPort, byHTTP3), deepEqual[ir.Port],
		func(v *store.View, id ir.PortID) ir.Port {
			r, _ := g.gateways.Get(v, id.Gateway)
			for _, port := range g.withHTTP3(v, r).Gateway.Ports {
				if port.ID() == id.Port {
					quic := port.Protocol == ir.QUIC
					if quic {
						port.Protocol = ir.HTTPS
					}
					port = route.Port(v, g.routes, byListener, id.Gateway, g.withClientSettings(v, id.Gateway, port))
					port = g.markExtensions(markByHost(r.Gateway.Fleet.Delivery, port))
					if quic {
						port = port.HTTP3()
					}
					return port
				}
			}
			return ir.Port{}
		})
}

// addPatchStage adds the stage that tries the patches of fleets.
func (g *graph) addPatchStage() {
	g.patchProblems = memo.Derive(g.memo, stagePatches, from(g.gateways), deepEqual[string], func(v *store.View, key string) string {
		r, _ := g.gateways.Get(v, key)
		return render.PatchError(r.Gateway)
	}, memo.OnPanic(func(_ *store.View, _, _, reason string) string {
		return "the patches cannot be checked: " + failed(reason)
	}))
}

// effectiveGateway returns a function that finds Gateways with the problems of their patches and their target ports on shared proxies.
func (g *graph) effectiveGateway(v *store.View) func(key string) gateway.Resolved {
	return func(key string) gateway.Resolved {
		r, _ := g.gateways.Get(v, key)
		problem, _ := g.patchProblems.Get(v, key)
		if settings, _ := g.clientSettings.Get(v, key); settings.Closes() {
			r = r.ClosedBy(settings.ClosedBy)
		}
		return g.withHTTP3(v, g.bound(v, r.Freeze(problem)))
	}
}

// backends are the destinations of routes, of filters and logs of listeners, and of tracing.
func (g *graph) backends() backendSources {
	all := backendSources{
		names: []store.SourceOf[ir.Backend]{g.byBackend}, byUser: []store.SourceOf[ir.GatewayBackend]{g.byGatewayBackend},
	}
	addBackends(&all, g.gateways, "gateway", gateway.Resolved.Needs)
	addBackends(&all, g.inherited.listeners.Table, "listener policies", (*inherit.Layer).Needs)
	addBackends(&all, g.tracing, "tracing", func(t *ir.Tracing) *ir.Needs { return ir.NeedsOf(t) })
	return all
}

func deepEqual[V any](a, b V) bool { return reflect.DeepEqual(a, b) }

func from(sources ...store.Source) []store.Source { return sources }

func typed[K store.ID](sources ...store.SourceOf[K]) []store.SourceOf[K] { return sources }
