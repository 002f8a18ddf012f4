package pipeline

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageTrafficPolicy = "backend traffic policy"
	stageRetryBudget   = "retry budget"
	stageBackendUser   = "backend user"
	stageTrafficStatus = "backend traffic policy status"
)

// addBackendTrafficStages adds the stages that weigh XBackendTrafficPolicies. What they decide is a part of the clusters, not of routes.
func (g *graph) addBackendTrafficStages(backends backendSources) {
	policies := memo.Derive(g.memo, stageTrafficPolicy, from(g.objects.XBackendTrafficPolicies), deepEqual[policy.ResolvedBackendTraffic],
		func(v *store.View, key string) policy.ResolvedBackendTraffic {
			return policy.BackendTraffic(v, g.objects, key)
		})
	inputs := policy.TrafficInputs{Objects: g.objects, Policies: policies}
	g.retryBudgets = memo.DeriveOf(g.memo, stageRetryBudget, parseBackend, backends.names, deepEqual[*ir.RetryBudget],
		inputs.RetryBudget)
	users := memo.DeriveOf(g.memo, stageBackendUser, ir.ParseGatewayBackend, backends.byUser, deepEqual[ir.BackendTarget],
		func(_ *store.View, user ir.GatewayBackend) ir.BackendTarget { return user.Backend.Target() })
	g.usersByTarget = store.NewIndexOf(users.Table, "backend user.byTarget",
		func(_ string, target ir.BackendTarget) []ir.BackendTarget { return []ir.BackendTarget{target} })
	outcomes := memo.Derive(g.memo, stageTrafficStatus, from(g.objects.XBackendTrafficPolicies), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			return inputs.Status(v, func(target ir.BackendTarget) []string { return g.usersOf(v, target) }, key)
		})
	g.addPolicies(store.XBackendTrafficPolicy, outcomes, stageTrafficPolicy, stageTrafficStatus)
}

// usersOf lists the Gateways that send requests or connections to an object, each once, sorted.
func (g *graph) usersOf(v *store.View, target ir.BackendTarget) []string {
	var gateways []string
	for _, user := range g.usersByTarget.Keys(v, target) {
		gateways = append(gateways, ir.ParseGatewayBackend(user).Gateway)
	}
	slices.Sort(gateways)
	return slices.Compact(gateways)
}
