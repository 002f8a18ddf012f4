package pipeline

import (
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageNameBudget     = "name budget"
	stageXBackend       = "xbackend"
	stageXBackendStatus = "xbackend status"
	stageSelector       = "selector"
)

// addXBackendStages adds the stages that read XBackends. They stand before those that make connections.
func (g *graph) addXBackendStages() {
	g.xbackends = deriveNamedBackends(g, namedBackends[*gwxv1alpha1.XBackend, backend.ResolvedXBackend]{
		stage: stageXBackend, budget: stageNameBudget, objects: g.objects.XBackends,
		names: backend.XBackendNames, resolve: backend.XBackend,
	})
}

// addXBackendStatusStages adds the stages that say what becomes of XBackends, which depends on who uses them.
func (g *graph) addXBackendStatusStages() {
	target := func(key string) ir.BackendTarget {
		return ir.BackendTarget{Kind: ir.KindXBackend, Object: ir.ParseName(key)}
	}
	g.xbackendStatus = memo.Derive(g.memo, stageXBackendStatus, from(g.objects.XBackends), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			r, _ := g.xbackends.Get(v, key)
			return r.Outcome(g.usersOf(v, target(key)))
		})
	g.addPolicies(store.XBackend, g.xbackendStatus, stageXBackend, stageXBackendStatus, stageSelector)
	addSelections(g, stageSelector, ir.KindXBackend, g.objects.XBackends, func(v *store.View, key string) *ir.Selector {
		r, _ := g.xbackends.Get(v, key)
		return r.Selector
	})
}
