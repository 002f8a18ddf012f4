package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageRoute           = "route"
	stageRouteKinds      = "route kinds"
	stageFleetBudget     = "fleet budget"
	stageOwnerBudget     = "owner budget"
	stageNamespaceBudget = "namespace budget"
	stageRouteConflict   = "route conflict"
	stageRepeatBudget    = "repeat budget"
	stageWildcardBudget  = "wildcard budget"
	stageVirtualHost     = "virtual host"
)

// addRouteStage adds the stage that resolves routes of every kind.
func (g *graph) addRouteStage(keys []store.Source, inputs route.Inputs) *store.Table[route.Resolved] {
	return memo.Derive(g.memo, stageRoute, keys, deepEqual[route.Resolved],
		func(v *store.View, key string) route.Resolved { return resolveRoute(v, inputs, key) },
		memo.OnPanic(func(v *store.View, key string, last route.Resolved, reason string) route.Resolved {
			kind, name := store.SplitKindKey(key)
			return route.Broken(v, inputs, kind, name, last, failed(reason))
		}))
}

// addConflictStages adds the stages that decide between routes of different kinds.
func (g *graph) addConflictStages(keys []store.Source, routes *store.Table[route.Resolved]) *store.Table[route.Resolved] {
	byKind := store.NewIndexOf(routes, "route.byKind", func(_ string, r route.Resolved) []route.KindID { return r.Kinds() })
	present := memo.DeriveOf(g.memo, stageRouteKinds, route.ParseKindID, typed[route.KindID](byKind), deepEqual[bool],
		func(v *store.View, id route.KindID) bool { return byKind.Len(v, id) > 0 })
	byStream := store.NewIndexOf(routes, "route.byStream", func(_ string, r route.Resolved) []ir.DomainID { return r.StreamDomains() })
	namespaces := g.addBudgetStages(routes)
	c := route.ConflictResolver{
		Routes: routes, ByKind: byKind, Present: present, ByStream: byStream, Namespaces: namespaces, Limits: &g.objects.Limits,
	}
	return memo.Derive(g.memo, stageRouteConflict, keys, deepEqual[route.Resolved], func(v *store.View, key string) route.Resolved {
		instead, _ := g.substitutes.Routes.Get(v, key)
		return instead.Apply(c.Resolve(v, key))
	}, memo.OnPanic(func(v *store.View, key string, last route.Resolved, reason string) route.Resolved {
		now, _ := routes.Get(v, key)
		if last.Name.Name == "" {
			last = now.Closed()
		}
		return last.Fail(now.Outcome.Generation, failed(reason))
	}))
}

// addBudgetStages adds the stages that find the namespaces whose routes take too much of the proxies of a Gateway.
func (g *graph) addBudgetStages(routes *store.Table[route.Resolved]) *store.Table[route.Shortage] {
	bytes := store.NewSums(routes, "route.bytes", func(_ string, r route.Resolved) map[string]int { return r.ChargedBytes(&g.objects.Limits) })
	budget := route.NamespaceBudget{
		Routes:      routes,
		Fleets:      g.addFleetBudgetStage(routes, bytes),
		Owners:      g.addOwnerBudgetStage(routes, bytes),
		Limits:      &g.objects.Limits,
		ByNamespace: store.NewIndex(routes, "route.byNamespace", func(_ string, r route.Resolved) []string { return r.NamespaceKeys() }),
		Rules: store.NewSums(
			routes,
			"route.rulesByNamespace",
			func(_ string, r route.Resolved) map[string]int { return r.RulesByNamespace() },
		),
		Expressions: store.NewSums(
			routes,
			"route.expressionsByNamespace",
			func(_ string, r route.Resolved) map[string]int { return r.ExpressionsByNamespace() },
		),
		Backends: store.NewDistinct(
			routes,
			"route.backendsByNamespace",
			func(_ string, r route.Resolved) map[string][]string { return r.BackendsByNamespace() },
		),
	}
	return memo.Derive(g.memo, stageNamespaceBudget, from(budget.ByNamespace), deepEqual[route.Shortage], budget.Shortage)
}

// addOwnerBudgetStage adds the stage that finds the namespaces whose routes take too much of the proxies of all Gateways.
func (g *graph) addOwnerBudgetStage(
	routes *store.Table[route.Resolved], bytes *store.Sums[route.Resolved],
) *store.Table[route.Shortage] {
	budget := route.OwnerBudget{
		Routes:      routes,
		Limits:      &g.objects.Limits,
		ByNamespace: store.NewIndex(routes, "route.byOwner", func(_ string, r route.Resolved) []string { return []string{r.Name.Namespace} }),
		Bytes:       bytes,
	}
	return memo.Derive(g.memo, stageOwnerBudget, from(budget.ByNamespace), deepEqual[route.Shortage], budget.Shortage)
}

// addFleetBudgetStage adds the stage that divides the proxies of a Gateway among the namespaces with routes there.
func (g *graph) addFleetBudgetStage(
	routes *store.Table[route.Resolved], bytes *store.Sums[route.Resolved],
) *store.Table[route.Shortage] {
	budget := route.FleetBudget{
		Routes:  routes,
		Limits:  &g.objects.Limits,
		ByFleet: store.NewIndex(routes, "route.byFleet", func(_ string, r route.Resolved) []string { return r.Fleets() }),
		Bytes:   bytes,
		Hostnames: store.NewDistinct(
			routes,
			"route.hostnamesByFleet",
			func(_ string, r route.Resolved) map[string][]string { return r.CountedHostnames() },
		),
		Backends: store.NewDistinct(
			routes,
			"route.backendsByFleet",
			func(_ string, r route.Resolved) map[string][]string { return r.CountedBackends() },
		),
	}
	return memo.Derive(g.memo, stageFleetBudget, from(budget.ByFleet), deepEqual[route.Shortage], budget.Shortage)
}

// addVirtualHostStages adds the stage that makes virtual hosts.
func (g *graph) addVirtualHostStages(
	ids []store.SourceOf[ir.HostID],
	byDomain *store.IndexOf[ir.DomainID, route.Resolved],
	byListener *store.IndexOf[ir.ListenerID, route.Resolved],
) *store.TableOf[ir.HostID, ir.VirtualHost] {
	byWild := store.NewIndexOf(g.routes, "route.byWild", func(_ string, r route.Resolved) []ir.ListenerID { return r.WildcardListeners() })
	repeats := memo.DeriveOf(g.memo, stageRepeatBudget, ir.ParseListenerID, typed[ir.ListenerID](byWild), deepEqual[limits.Tiers],
		func(v *store.View, listener ir.ListenerID) limits.Tiers {
			r, _ := g.gateways.Get(v, listener.Gateway)
			byHost := r.FallsThrough(listener.Listener)
			return route.RepeatBudget(v, g.routes, byWild, byListener, byHost, g.objects.Limits.RepeatedRules, listener)
		})
	byWildTable := store.NewIndexOf(g.routes, "route.byWildTable", func(_ string, r route.Resolved) []ir.TableID { return r.WildcardTables() })
	wildcards := memo.DeriveOf(g.memo, stageWildcardBudget, ir.ParseTableID, typed[ir.TableID](byWildTable), deepEqual[limits.Tiers],
		func(v *store.View, table ir.TableID) limits.Tiers {
			return route.WildcardBudget(v, g.routes, byWildTable, g.objects.Limits.WildcardBytes, table)
		})
	g.budgets = newBudgets(repeats, byWild, wildcards, byWildTable)
	in := route.Hosts{
		Tables: g.tableListeners, Routes: g.routes, ByDomain: byDomain, Repeats: repeats, Wildcards: wildcards, Limits: &g.objects.Limits,
		Policies: g.inherited.listeners,
	}
	g.hostInputs = in
	hosts := memo.DeriveOf(
		g.memo,
		stageVirtualHost,
		ir.ParseHostID,
		ids,
		deepEqual[ir.VirtualHost],
		func(v *store.View, id ir.HostID) ir.VirtualHost {
			host := in.VirtualHost(v, id)
			host.Flat, _ = g.substitutes.FlatHosts.Get(v, id)
			return host
		},
		memo.OnPanic(func(_ *store.View, key string, last ir.VirtualHost, _ string) ir.VirtualHost {
			if last.Domain == "" {
				return ir.ClosedHost(ir.ParseHostID(key))
			}
			return last
		}),
	)
	g.budgets.hosts = store.NewIndex(
		hosts.Table,
		"virtual host.beyond",
		func(_ string, h ir.VirtualHost) []string { return some(len(h.Beyond)+len(h.ClosedBeside) > 0) },
	)
	return hosts
}
