package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
)

// Selectors receives the label selectors whose endpoints are needed.
type Selectors interface {
	Set(selector ir.Selector)
	// Release says that an object exists and nothing needs its endpoints.
	Release(backend ir.BackendTarget, uid string)
	// Delete says that an object is gone.
	Delete(backend ir.BackendTarget)
}

// selection is what is wanted of an object with a selector.
type selection struct {
	uid string
	// selector is nil where nothing needs endpoints.
	selector *ir.Selector
}

// selections are what is wanted of all objects of a kind, by `namespace/name`.
type selections struct {
	kind  ir.BackendKind
	table *store.Table[selection]
}

// target is the object of a key.
func (s selections) target(key string) ir.BackendTarget {
	return ir.BackendTarget{Kind: s.kind, Object: ir.ParseName(key)}
}

// addSelections adds the stage that says of which objects of a kind the endpoints are needed.
func addSelections[O store.Object](
	g *graph, stage string, kind ir.BackendKind, objects *store.Table[O], selector func(v *store.View, key string) *ir.Selector,
) {
	all := selections{kind: kind}
	all.table = memo.Derive(g.memo, stage, from(objects), deepEqual[selection], func(v *store.View, key string) selection {
		s := selection{}
		if object, ok := objects.Get(v, key); ok {
			s.uid = string(object.GetUID())
		}
		if wanted := selector(v, key); wanted != nil && g.usersByTarget.Len(v, all.target(key)) > 0 {
			s.selector = wanted
		}
		return s
	})
	g.selections = append(g.selections, all)
}

// publishSelectors says which endpoints are wanted.
func (g *graph) publishSelectors(selectors Selectors) {
	for _, kind := range g.selections {
		for _, key := range kind.table.TakeChanged() {
			switch s, ok := kind.table.Get(nil, key); {
			case !ok:
				selectors.Delete(kind.target(key))
			case s.selector == nil:
				selectors.Release(kind.target(key), s.uid)
			default:
				selectors.Set(*s.selector)
			}
		}
	}
}
