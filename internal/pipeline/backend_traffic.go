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

// limitBackends lists the stages that weigh XBackendTrafficPolicies. What they decide is a part of the clusters, not of routes.
func (g *graph) limitBackends(byBackend, byGatewayBackend []store.Source) {
	policies := memo.Derive(g.memo, stageTrafficPolicy, from(g.objects.BackendTrafficPolicies), deepEqual[policy.ResolvedBackendTraffic],
		func(v *store.View, key string) policy.ResolvedBackendTraffic {
			return policy.BackendTraffic(v, g.objects, key)
		})
	inputs := policy.TrafficInputs{Objects: g.objects, Policies: policies}
	g.retryBudgets = memo.Derive(g.memo, stageRetryBudget, byBackend, deepEqual[*ir.RetryBudget],
		func(v *store.View, key string) *ir.RetryBudget {
			backend, ok := ir.ParseBackend(key)
			if !ok {
				return nil
			}
			return inputs.RetryBudget(v, backend)
		})
	users := memo.Derive(g.memo, stageBackendUser, byGatewayBackend, deepEqual[string],
		func(_ *store.View, key string) string {
			_, name := splitKey(key)
			backend, _ := ir.ParseBackend(name)
			return backend.Target()
		})
	g.usersByTarget = store.NewIndex(users, "backend user.byTarget", func(_, target string) []string { return []string{target} })
	g.trafficStatus = memo.Derive(g.memo, stageTrafficStatus, from(g.objects.BackendTrafficPolicies), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			return inputs.Status(v, func(target string) []string { return g.usersOf(v, target) }, key)
		})
}

// usersOf lists the Gateways that send anything to an [ir.Backend.Target], each once, sorted.
func (g *graph) usersOf(v *store.View, target string) []string {
	var gateways []string
	for _, user := range g.usersByTarget.Keys(v, target) {
		gateway, _ := splitKey(user)
		gateways = append(gateways, gateway)
	}
	slices.Sort(gateways)
	return slices.Compact(gateways)
}
