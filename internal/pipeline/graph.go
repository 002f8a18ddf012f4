package pipeline

import (
	"net/netip"
	"reflect"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	clustertranslate "github.com/gatewright/gatewright/internal/translate/cluster"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// graph is every stage of the configuration lane, from objects to what proxies, fleets and conditions should be.
type graph struct {
	store   *store.Store
	memo    *memo.Graph
	objects *store.Objects
	// files says that delivery Files is offered. It never changes.
	files bool
	// deniedAddresses are where names outside the cluster may not lead, beside those that are always denied. They never change.
	deniedAddresses []netip.Prefix
	// families are those of the cluster's pods. They never change.
	families ir.Families

	classes  *store.Table[gateway.ResolvedClass]
	gateways *store.Table[gateway.Resolved]
	routes   *store.Table[route.Resolved]
	// routeStatus is what became of each route, and idle the endpoints of which there are none.
	routeStatus *store.Table[outcome.Route]
	idle        *store.Table[bool]
	// cutEndpoints are those of which there are more than are served, and cut has the same names.
	cutEndpoints *store.Table[bool]
	cut          map[string]struct{}
	// tableListeners are the listeners of each route table.
	tableListeners *store.Table[[]gateway.ParentListener]
	// quarantinedRoutes and quarantinedFilters are what proxies refuse, and what is served instead; see quarantine.go.
	quarantinedRoutes  *store.Table[substitutes]
	quarantinedFilters *store.Table[quarantinedFilters]
	// flatHosts are the hosts whose rules proxies refuse as a tree.
	flatHosts *store.Table[bool]
	// byVirtualHost finds the routes of a virtual host, byBackend those that use a backend, and byGatewayBackend those that use it at a
	// Gateway.
	byVirtualHost    *store.Index[route.Resolved]
	byBackend        *store.Index[route.Resolved]
	byGatewayBackend *store.Index[route.Resolved]

	budgets  *budgets
	hosts    *store.Table[ir.VirtualHost]
	ports    *store.Table[ir.Port]
	policies *store.Table[policy.ResolvedBackendTLS]
	tls      backendTLS

	// patchFlaws is what is wrong with the patches of a Gateway's parameters.
	patchFlaws    *store.Table[string]
	gatewayStatus *store.Table[gatewayOutcome]
	setStatus     *store.Table[setOutcome]
	policyStatus  *store.Table[outcome.Policy]
	trafficStatus *store.Table[outcome.Policy]
	retryBudgets  *store.Table[*ir.RetryBudget]
	// usersByTarget finds the Gateways that use a backend, as `<gateway>|<backend>`, by [ir.Backend.Target].
	usersByTarget  *store.Index[string]
	xbackends      *store.Table[policy.ResolvedXBackend]
	xbackendStatus *store.Table[outcome.Policy]
	selections     *store.Table[selection]

	tracing         *store.Table[*ir.Tracing]
	telemetryStatus *store.Table[outcome.Policy]

	shared sharing
	supply *supply

	listeners    *store.Table[translation]
	tables       *store.Table[translation]
	virtualHosts *store.Table[translation]
	clusters     *store.Table[translation]
	certificates *store.Table[translation]
	authorities  *store.Table[translation]
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

// The names of the stages, in order. A report counts by them.
const (
	stageClass           = "class"
	stageGateway         = "gateway"
	stageParent          = "parent"
	stageTableListeners  = "table listeners"
	stageRoute           = "route"
	stageRouteKinds      = "route kinds"
	stageNamespaceBudget = "namespace budget"
	stageContest         = "route contest"
	stagePatches         = "patches"
	stageStatus          = "gateway status"
	stageSetStatus       = "listener set status"
	stageRepeatBudget    = "repeat budget"
	stageVirtualHost     = "virtual host"
	stagePort            = "port"
	stageListener        = "translate listener"
	stageTable           = "translate route table"
	stageHostProto       = "translate virtual host"
	stageClusterProto    = "translate cluster"
	stageCluster         = "cluster"
	stageCertificate     = "translate certificate"
	stageBundle          = "translate bundle"
	stageAuthorities     = "translate authorities"
)

// newGraph lists the stages. Each reads only what stands above it.
func newGraph(options ...memo.Option) *graph {
	s := store.New()
	g := &graph{
		store: s, objects: store.NewObjects(s), supply: newSupply(),
		quarantinedRoutes: store.NewTable[substitutes](s, "quarantined routes"), quarantinedFilters: store.NewTable[quarantinedFilters](s, "quarantined filters"),
		flatHosts: store.NewTable[bool](s, "flat hosts"), idle: store.NewTable[bool](s, "idle endpoints"),
		cutEndpoints: store.NewTable[bool](s, "cut endpoints"), cut: map[string]struct{}{},
	}
	g.memo = memo.New(s, options...)
	g.classes = memo.Derive(g.memo, stageClass, from(g.objects.GatewayClasses), deepEqual[gateway.ResolvedClass],
		func(v *store.View, key string) gateway.ResolvedClass { return gateway.Class(v, g.objects, key) })

	g.gateways = memo.Derive(g.memo, stageGateway, from(g.objects.Gateways), deepEqual[gateway.Resolved], g.resolveGateway, memo.OnPanic(g.brokenGateway))
	byPort := store.NewIndex(g.gateways, "gateway.byPort", portKeys)
	byTable := store.NewIndex(g.gateways, "gateway.byTable", tableKeys)
	byListenerTable := store.NewIndex(g.gateways, "gateway.byListenerTable", func(_ string, r gateway.Resolved) []string { return r.Tables() })
	byDomain := store.NewIndex(g.gateways, "gateway.byDomain", domainKeys)
	byCertificate := store.NewIndex(g.gateways, "gateway.byCertificate",
		func(_ string, r gateway.Resolved) []string { return r.Certificates() })
	byAuthorities := store.NewIndex(g.gateways, "gateway.byAuthorities", func(_ string, r gateway.Resolved) []string { return r.Authorities() })

	parents := memo.Derive(g.memo, stageParent, from(g.gateways, kindKeys(g.objects.ListenerSets, store.ListenerSet)), deepEqual[gateway.Parent],
		func(v *store.View, key string) gateway.Parent {
			return gateway.Listeners(v, g.objects, g.gateways, key)
		})
	g.tableListeners = memo.Derive(g.memo, stageTableListeners, from(byListenerTable), deepEqual[[]gateway.ParentListener], g.listenersServed)

	byScope := store.NewIndex(g.gateways, "gateway.byScope", func(_ string, r gateway.Resolved) []string { return r.Scopes() })
	routes := from(
		kindKeys(g.objects.HTTPRoutes, store.HTTPRoute), kindKeys(g.objects.GRPCRoutes, store.GRPCRoute),
		kindKeys(g.objects.TLSRoutes, store.TLSRoute), kindKeys(g.objects.TCPRoutes, store.TCPRoute), kindKeys(g.objects.UDPRoutes, store.UDPRoute),
	)
	g.routes = g.contest(routes, g.resolveRoutes(routes, route.Inputs{Objects: g.objects, Parents: parents, Defaults: byScope}))
	byListener := store.NewIndex(g.routes, "route.byListener", func(_ string, r route.Resolved) []string { return r.ListenerKeys() })
	byHost := store.NewIndex(g.routes, "route.byHost", func(_ string, r route.Resolved) []string { return r.HostKeys() })
	g.byVirtualHost = store.NewIndex(g.routes, "route.byVirtualHost", func(_ string, r route.Resolved) []string { return r.VirtualHostKeys() })
	g.byBackend = store.NewIndex(g.routes, "route.byBackend", func(_ string, r route.Resolved) []string { return r.BackendNames() })
	g.byGatewayBackend = store.NewIndex(g.routes, "route.byGatewayBackend", func(_ string, r route.Resolved) []string { return r.BackendKeys() })

	g.share(byPort)
	g.checkPatches()
	g.gatewayStatus = memo.Derive(g.memo, stageStatus, from(g.gateways), deepEqual[gatewayOutcome],
		func(v *store.View, key string) gatewayOutcome {
			attached := func(listener string) int { return byListener.Len(v, route.ListenerKey(key, listener)) }
			o, ours := gateway.Status(v, g.objects, g.held(v), attached, key)
			return gatewayOutcome{ours: ours, outcome: o}
		})
	g.setStatus = memo.Derive(g.memo, stageSetStatus, from(g.objects.ListenerSets), deepEqual[setOutcome],
		func(v *store.View, key string) setOutcome {
			attached := func(gateway, listener string) int { return byListener.Len(v, route.ListenerKey(gateway, listener)) }
			o, ours := gateway.SetStatus(v, g.objects, g.held(v), attached, key)
			return setOutcome{ours: ours, outcome: o}
		})

	g.hosts = g.resolveHosts(from(g.byVirtualHost, byDomain), byHost, byListener)
	byShadowed := store.NewIndex(g.hosts, "virtual host.shadowed", shadowedRoutes)

	g.ports = memo.Derive(g.memo, stagePort, from(byPort), deepEqual[ir.Port],
		func(v *store.View, key string) ir.Port {
			name, id := splitKey(key)
			r, _ := g.gateways.Get(v, name)
			for _, port := range r.Gateway.Ports {
				if port.ID() == id {
					return markByHost(r.Gateway.Fleet.Delivery, route.Port(v, g.routes, byListener, name, port))
				}
			}
			return ir.Port{}
		})

	backends, gatewayBackends := g.backends(g.byBackend, g.byGatewayBackend)
	g.resolveXBackends()
	byBackendAuthorities, byBackendCertificate := g.secureBackends(backends, gatewayBackends)
	g.limitBackends(backends, gatewayBackends)
	g.judgeXBackends()
	g.reportRoutes(routes, byShadowed)
	g.translate(byTable, backends, gatewayBackends)
	g.translateSecrets(from(byCertificate, byBackendCertificate), from(byAuthorities, byBackendAuthorities))
	g.collectChanges()
	return g
}

// resolveRoutes lists the stage that resolves routes of every kind.
func (g *graph) resolveRoutes(keys []store.Source, inputs route.Inputs) *store.Table[route.Resolved] {
	return memo.Derive(g.memo, stageRoute, keys, deepEqual[route.Resolved],
		func(v *store.View, key string) route.Resolved { return resolveRoute(v, inputs, key) },
		memo.OnPanic(func(v *store.View, key string, last route.Resolved, reason string) route.Resolved {
			kind, name := splitRouteKey(key)
			return route.Broken(v, inputs, kind, name, last, failed(reason))
		}))
}

// resolveHosts lists the stage that makes virtual hosts.
func (g *graph) resolveHosts(keys []store.Source, byHost, byListener *store.Index[route.Resolved]) *store.Table[ir.VirtualHost] {
	byWild := store.NewIndex(g.routes, "route.byWild", func(_ string, r route.Resolved) []string { return r.WildKeys() })
	repeats := memo.Derive(g.memo, stageRepeatBudget, from(byWild), deepEqual[limits.Cutoff], func(v *store.View, key string) limits.Cutoff {
		gateway, listener := splitKey(key)
		r, _ := g.gateways.Get(v, gateway)
		return route.RepeatBudget(v, g.routes, byWild, byListener, r.FallsThrough(listener), g.objects.Limits.RepeatedRules, key)
	})
	g.budgets = newBudgets(repeats, byWild)
	in := route.Hosts{Tables: g.tableListeners, Routes: g.routes, ByHost: byHost, Repeats: repeats, Limits: &g.objects.Limits}
	hosts := memo.Derive(g.memo, stageVirtualHost, keys, deepEqual[ir.VirtualHost], func(v *store.View, key string) ir.VirtualHost {
		host := in.VirtualHost(v, key)
		host.Flat, _ = g.flatHosts.Get(v, key)
		return host
	})
	g.budgets.hosts = store.NewIndex(hosts, "virtual host.beyond", func(_ string, h ir.VirtualHost) []string { return some(len(h.Beyond) > 0) })
	return hosts
}

// checkPatches lists the stage that tries the patches of fleets.
func (g *graph) checkPatches() {
	g.patchFlaws = memo.Derive(g.memo, stagePatches, from(g.gateways), deepEqual[string], func(v *store.View, key string) string {
		r, _ := g.gateways.Get(v, key)
		return render.PatchFlaw(r.Gateway)
	}, memo.OnPanic(func(_ *store.View, _, _, reason string) string {
		return "the patches can not be checked: " + failed(reason)
	}))
}

// held finds Gateways, with what their patches would do taken into account, and where shared proxies listen for them.
func (g *graph) held(v *store.View) func(key string) gateway.Resolved {
	return func(key string) gateway.Resolved {
		r, _ := g.gateways.Get(v, key)
		flaw, _ := g.patchFlaws.Get(v, key)
		return g.bound(v, r.Hold(flaw))
	}
}

// backends are all that anybody sends anything to, by name and by Gateway: routes, filters and logs of listeners, and tracing.
func (g *graph) backends(byRoute, byGatewayRoute store.Source) (names, keys []store.Source) {
	byListener, byGatewayListener := neededBackends(g.gateways, "gateway", gateway.Resolved.Needs)
	byServed, byGatewayServed := neededBackends(g.quarantinedFilters, "quarantined filters", quarantinedFilters.needs)
	bySpans, byGatewaySpans := g.observe()
	return from(byRoute, byListener, byServed, bySpans), from(byGatewayRoute, byGatewayListener, byGatewayServed, byGatewaySpans)
}

// contest lists the stages that decide between routes of different kinds.
func (g *graph) contest(keys []store.Source, routes *store.Table[route.Resolved]) *store.Table[route.Resolved] {
	byKind := store.NewIndex(routes, "route.byKind", func(_ string, r route.Resolved) []string { return r.KindKeys() })
	present := memo.Derive(g.memo, stageRouteKinds, from(byKind), deepEqual[bool],
		func(v *store.View, key string) bool { return byKind.Len(v, key) > 0 })
	byStream := store.NewIndex(routes, "route.byStream", func(_ string, r route.Resolved) []string { return r.StreamKeys() })
	namespaces := g.limitNamespaces(routes)
	c := route.Contest{Routes: routes, ByKind: byKind, Present: present, ByStream: byStream, Namespaces: namespaces}
	return memo.Derive(g.memo, stageContest, keys, deepEqual[route.Resolved], func(v *store.View, key string) route.Resolved {
		instead, _ := g.quarantinedRoutes.Get(v, key)
		return instead.apply(c.Settle(v, key))
	}, memo.OnPanic(func(v *store.View, key string, last route.Resolved, reason string) route.Resolved {
		now, _ := routes.Get(v, key)
		return last.Fail(now.Outcome.Generation, failed(reason))
	}))
}

// limitNamespaces lists the stage that finds the namespaces whose routes take too much of a Gateway.
func (g *graph) limitNamespaces(routes *store.Table[route.Resolved]) *store.Table[route.Shortage] {
	budget := route.NamespaceBudget{
		Routes: routes, Limits: &g.objects.Limits,
		ByNamespace: store.NewIndex(routes, "route.byNamespace", func(_ string, r route.Resolved) []string { return r.NamespaceKeys() }),
		Rules:       store.NewSums(routes, "route.rulesByNamespace", func(_ string, r route.Resolved) map[string]int { return r.RulesByNamespace() }),
		Expressions: store.NewSums(routes, "route.expressionsByNamespace", func(_ string, r route.Resolved) map[string]int { return r.ExpressionsByNamespace() }),
		Backends:    store.NewDistinct(routes, "route.backendsByNamespace", func(_ string, r route.Resolved) map[string][]string { return r.BackendsByNamespace() }),
	}
	return memo.Derive(g.memo, stageNamespaceBudget, from(budget.ByNamespace), deepEqual[route.Shortage], budget.Shortage)
}

// translate lists the stages that make Envoy's resources.
func (g *graph) translate(byTable *store.Index[gateway.Resolved], byBackend, byGatewayBackend []store.Source) {
	g.listeners = memo.Derive(g.memo, stageListener, from(g.ports), sameTranslation, func(v *store.View, key string) translation {
		port, _ := g.ports.Get(v, key)
		if len(port.Chains) == 0 {
			return translation{}
		}
		return g.listener(v, key, port)
	})
	g.translateShared()
	g.tables = memo.Derive(g.memo, stageTable, from(byTable), sameTranslation, func(_ *store.View, key string) translation {
		return checked(func() *routev3.RouteConfiguration { return routetranslate.Table(key) })
	})
	g.virtualHosts = memo.Derive(g.memo, stageHostProto, from(g.hosts), sameTranslation, func(v *store.View, key string) translation {
		host, _ := g.hosts.Get(v, key)
		var flaws []wire.Flaw
		t := checked(func() (proto *routev3.VirtualHost) {
			proto, flaws = routetranslate.VirtualHost(host)
			return proto
		})
		t.flaws = append(flaws, t.flaws...)
		return t
	})
	protos := memo.Derive(g.memo, stageClusterProto, byBackend, sameTranslation, func(v *store.View, key string) translation {
		tls, _ := g.tls.byBackend.Get(v, key)
		return g.cluster(v, key, tls)
	})
	// Gateways share the bytes of a cluster, except where they show certificates of their own.
	g.clusters = memo.Derive(g.memo, stageCluster, byGatewayBackend, sameTranslation, func(v *store.View, key string) translation {
		_, name := splitKey(key)
		if tls, _ := g.tls.byGateway.Get(v, key); tls != nil && tls.ClientCertificate != "" {
			return g.cluster(v, name, tls)
		}
		cluster, _ := protos.Get(v, name)
		return cluster
	})
}

// cluster is the way to a backend by its name.
func (g *graph) cluster(v *store.View, name string, tls *ir.BackendTLS) translation {
	backend, ok := ir.ParseBackend(name)
	if !ok {
		return translation{}
	}
	way := clustertranslate.Way{TLS: tls, Families: g.families}
	way.Budget, _ = g.retryBudgets.Get(v, name)
	if backend.XBackend {
		own, _ := g.xbackends.Get(v, backend.Object.String())
		way.Hostname, way.DeniedAddresses = own.Hostname, g.deniedAddresses
	}
	return checked(func() *clusterv3.Cluster { return clustertranslate.Cluster(backend, way) })
}

// translateSecrets lists the stages that make what is kept apart from listeners and clusters so that it can be rotated.
func (g *graph) translateSecrets(byCertificate, byAuthorities []store.Source) {
	g.certificates = memo.Derive(g.memo, stageCertificate, byCertificate, sameTranslation, func(v *store.View, key string) translation {
		_, name := splitKey(key)
		certificate, problem := refs.KeyPair(v, g.objects, name)
		if problem != nil {
			return translation{}
		}
		return checked(func() *tlsv3.Secret { return listenertranslate.Secret(certificate) })
	})
	// Gateways share the bytes of a bundle.
	byName := func(keys []string) []string {
		for i, key := range keys {
			_, keys[i] = splitKey(key)
		}
		return keys
	}
	byGatewayBundle := store.NewIndex(g.gateways, "gateway.byBundle", func(_ string, r gateway.Resolved) []string { return byName(r.Authorities()) })
	byBackendBundle := store.NewIndex(g.tls.byGateway, "backend TLS.byBundle", func(key string, tls *ir.BackendTLS) []string { return byName(authoritiesKey(key, tls)) })
	bundles := memo.Derive(g.memo, stageBundle, from(byGatewayBundle, byBackendBundle), sameTranslation, func(v *store.View, name string) translation {
		bundle, problem := refs.AuthoritiesNamed(v, g.objects, name)
		if problem != nil {
			return translation{}
		}
		return checked(func() *tlsv3.Secret { return listenertranslate.Authorities(bundle) })
	})
	g.authorities = memo.Derive(g.memo, stageAuthorities, byAuthorities, sameTranslation, func(v *store.View, key string) translation {
		_, name := splitKey(key)
		bundle, _ := bundles.Get(v, name)
		return bundle
	})
}

func deepEqual[V any](a, b V) bool { return reflect.DeepEqual(a, b) }

func from(sources ...store.Source) []store.Source { return sources }
