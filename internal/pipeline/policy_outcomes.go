package pipeline

import (
	"slices"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// policyOutcomes are the outcomes of all policies of one kind, or of XBackends, whose status is alike.
type policyOutcomes struct {
	kind     store.Kind
	outcomes *store.Table[outcome.Policy]
	// stages compute values for one policy. If one panics, the policy reports it.
	stages []string
}

// addPolicies registers the outcomes of the policies of one kind: they are published, and failures of these stages are reported there.
func (g *graph) addPolicies(kind store.Kind, outcomes *store.Table[outcome.Policy], stages ...string) {
	g.policyOutcomes = append(g.policyOutcomes, policyOutcomes{kind, outcomes, stages})
}

func (p policyOutcomes) publish(statuses Statuses) {
	for _, key := range p.outcomes.TakeChanged() {
		if o, ok := p.outcomes.Get(nil, key); ok {
			statuses.SetPolicy(p.kind, key, o)
		} else {
			statuses.Forget(p.kind, key)
		}
	}
}

// noticePolicy reports the failure of a stage on the policy that the stage is about.
func (g *graph) noticePolicy(all notices, at stageKey, message string) {
	for _, p := range g.policyOutcomes {
		if slices.Contains(p.stages, at.stage) {
			noticeAncestors(all, p.kind, p.outcomes, at.key, message)
		}
	}
}
