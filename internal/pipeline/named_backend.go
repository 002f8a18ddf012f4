package pipeline

import (
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/store"
)

// namedBackends is a kind of backend whose objects can have names that proxies resolve by DNS. The names of a namespace are limited.
type namedBackends[O store.Object, R interface{ Within(limits.Cutoff, O) R }] struct {
	// stage resolves the objects, and budget finds those that are beyond the limit.
	stage, budget string
	objects       *store.Table[O]
	names         func(O) int
	resolve       func(*store.View, *store.Objects, string) R
}

// deriveNamedBackends adds the stages of such a kind.
func deriveNamedBackends[O store.Object, R interface{ Within(limits.Cutoff, O) R }](g *graph, kind namedBackends[O, R]) *store.Table[R] {
	byNamespace := store.NewIndex(kind.objects, kind.stage+".byNamespaceOfName", func(_ string, object O) []string {
		if kind.names(object) == 0 {
			return nil
		}
		return []string{object.GetNamespace()}
	})
	budgets := memo.Derive(g.memo, kind.budget, from(byNamespace), deepEqual[limits.Cutoff],
		func(v *store.View, namespace string) limits.Cutoff {
			return backend.NameBudget(v, kind.objects, byNamespace.Keys(v, namespace), kind.names, g.objects.Limits.ExternalHostnames)
		})
	return memo.Derive(g.memo, kind.stage, from(kind.objects), deepEqual[R], func(v *store.View, key string) R {
		resolved := kind.resolve(v, g.objects, key)
		object, ok := kind.objects.Get(v, key)
		if !ok {
			return resolved
		}
		cutoff, _ := budgets.Get(v, object.GetNamespace())
		return resolved.Within(cutoff, object)
	})
}
