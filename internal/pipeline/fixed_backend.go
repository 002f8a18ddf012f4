package pipeline

import (
	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageFixedNames    = "backend name budget"
	stageFixedBackend  = "backend"
	stageBackendStatus = "backend status"
)

// addFixedBackendStages adds the stages that read Backends. They stand before those that make connections.
func (g *graph) addFixedBackendStages() {
	g.fixedBackends = deriveNamedBackends(g, namedBackends[*v1alpha1.Backend, backend.Fixed]{
		stage: stageFixedBackend, budget: stageFixedNames, objects: g.objects.Backends,
		names: backend.FixedNames, resolve: backend.ResolveFixed,
	})
}

// addFixedBackendStatusStage adds the stage that says what became of Backends.
func (g *graph) addFixedBackendStatusStage() {
	outcomes := memo.Derive(g.memo, stageBackendStatus, from(g.objects.Backends), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			f, _ := g.fixedBackends.Get(v, key)
			return f.Outcome(g.usersOf(v, ir.BackendTarget{Kind: ir.KindBackend, Object: ir.ParseName(key)}))
		})
	g.addPolicies(store.Backend, outcomes, stageFixedBackend, stageBackendStatus)
}
