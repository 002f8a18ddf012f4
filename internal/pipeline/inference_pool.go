package pipeline

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageInferencePool       = "inference pool"
	stageInferencePoolStatus = "inference pool status"
	stagePoolSelector        = "inference pool selector"
	stagePoolImportStatus    = "inference pool import status"
)

// addInferencePoolStage adds the stage that reads InferencePools. It stands before those that make connections.
func (g *graph) addInferencePoolStage() {
	g.pools = memo.Derive(g.memo, stageInferencePool, from(g.objects.InferencePools), deepEqual[backend.ResolvedInferencePool],
		func(v *store.View, key string) backend.ResolvedInferencePool {
			return backend.InferencePool(v, g.objects, key)
		},
		memo.OnPanic(func(v *store.View, key string, last backend.ResolvedInferencePool, _ string) backend.ResolvedInferencePool {
			if last.IsResolved() {
				return last
			}
			return backend.BrokenInferencePool(v, g.objects, key)
		}))
}

// addInferencePoolStatusStages adds the stages that say what becomes of InferencePools and their imports, which depends on who uses them.
func (g *graph) addInferencePoolStatusStages() {
	outcomes := memo.Derive(g.memo, stageInferencePoolStatus, from(g.objects.InferencePools), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			r, _ := g.pools.Get(v, key)
			if r.Picker != nil && r.ResolvedRefs == nil {
				if problem := g.refusedBackend(v, r.Picker.Backend); problem != nil {
					r = r.WithPickerRefused(problem)
				}
			}
			return r.Outcome(g.usersOf(v, ir.BackendTarget{Kind: ir.KindInferencePool, Object: ir.ParseName(key)}))
		})
	g.addPolicies(store.InferencePool, outcomes, stageInferencePool, stageInferencePoolStatus, stagePoolSelector)
	addSelections(g, stagePoolSelector, ir.KindInferencePool, g.objects.InferencePools, func(v *store.View, key string) *ir.Selector {
		r, _ := g.pools.Get(v, key)
		return r.Selector
	})
	byImport := store.NewIndex(g.routes, "route.byPoolImport", func(_ string, r route.Resolved) []string { return r.Imports() })
	imports := memo.Derive(g.memo, stagePoolImportStatus, from(g.objects.InferencePoolImports), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			var gateways []string
			for _, user := range byImport.Keys(v, key) {
				r, _ := g.routes.Get(v, user)
				gateways = append(gateways, r.Gateways()...)
			}
			slices.Sort(gateways)
			return backend.ImportOutcome(v, g.objects, key, slices.Compact(gateways))
		})
	g.addPolicies(store.InferencePoolImport, imports, stagePoolImportStatus)
}
