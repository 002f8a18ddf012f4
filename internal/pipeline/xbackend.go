package pipeline

import (
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageNameBudget     = "name budget"
	stageXBackend       = "xbackend"
	stageXBackendStatus = "xbackend status"
	stageSelector       = "selector"
)

// Selectors is where the wish for endpoints goes that are chosen by labels.
type Selectors interface {
	Set(selector ir.Selector)
	// Release says that an XBackend exists and nobody needs its endpoints.
	Release(backend ir.Name, uid string)
	// Delete says that an XBackend is gone.
	Delete(backend ir.Name)
}

// selection is what is wanted of an XBackend.
type selection struct {
	uid string
	// selector is nil where nobody needs endpoints.
	selector *ir.Selector
}

// resolveXBackends lists the stage that reads XBackends. It stands before those that make connections.
func (g *graph) resolveXBackends() {
	byNamespace := store.NewIndex(g.objects.XBackends, "XBackend.byNamespaceOfName", func(_ string, b *gwxv1alpha1.XBackend) []string {
		if !policy.HasName(b) {
			return nil
		}
		return []string{b.Namespace}
	})
	names := memo.Derive(g.memo, stageNameBudget, from(byNamespace), deepEqual[limits.Cutoff], func(v *store.View, namespace string) limits.Cutoff {
		return policy.NameBudget(v, g.objects, byNamespace, namespace)
	})
	g.xbackends = memo.Derive(g.memo, stageXBackend, from(g.objects.XBackends), deepEqual[policy.ResolvedXBackend],
		func(v *store.View, key string) policy.ResolvedXBackend {
			b, _ := g.objects.XBackends.Get(v, key)
			cutoff := limits.Cutoff{}
			if b != nil {
				cutoff, _ = names.Get(v, b.Namespace)
			}
			return policy.XBackend(v, g.objects, key).Within(cutoff, b)
		})
}

// judgeXBackends lists the stages that say what becomes of XBackends, which depends on who uses them.
func (g *graph) judgeXBackends() {
	target := func(key string) string { return ir.Backend{Object: ir.ParseName(key), XBackend: true}.Target() }
	g.xbackendStatus = memo.Derive(g.memo, stageXBackendStatus, from(g.objects.XBackends), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			r, _ := g.xbackends.Get(v, key)
			return r.Outcome(g.usersOf(v, target(key)))
		})
	g.selections = memo.Derive(g.memo, stageSelector, from(g.objects.XBackends), deepEqual[selection],
		func(v *store.View, key string) selection {
			r, _ := g.xbackends.Get(v, key)
			object, _ := g.objects.XBackends.Get(v, key)
			s := selection{}
			if object != nil {
				s.uid = string(object.UID)
			}
			if r.Selector != nil && g.usersByTarget.Len(v, target(key)) > 0 {
				s.selector = r.Selector
			}
			return s
		})
}

// publishSelectors says which endpoints are wanted.
func (g *graph) publishSelectors(selectors Selectors) {
	for _, key := range g.selections.TakeChanged() {
		switch s, ok := g.selections.Get(nil, key); {
		case !ok:
			selectors.Delete(ir.ParseName(key))
		case s.selector == nil:
			selectors.Release(ir.ParseName(key), s.uid)
		default:
			selectors.Set(*s.selector)
		}
	}
}
