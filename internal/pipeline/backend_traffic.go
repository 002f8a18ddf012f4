package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageTrafficPolicy = "backend traffic policy"
	stageRetryBudget   = "retry budget"
	stageServiceUser   = "service user"
	stageTrafficStatus = "backend traffic policy status"
)

// limitBackends lists the stages that weigh XBackendTrafficPolicies. What they decide is a part of the clusters, not of routes.
func (g *graph) limitBackends(byBackend, byGatewayBackend *store.Index[route.Resolved]) {
	policies := memo.Derive(g.memo, stageTrafficPolicy, from(g.objects.BackendTrafficPolicies), deepEqual[policy.ResolvedBackendTraffic],
		func(v *store.View, key string) policy.ResolvedBackendTraffic {
			return policy.BackendTraffic(v, g.objects, key)
		})
	inputs := policy.TrafficInputs{Objects: g.objects, Policies: policies}
	g.retryBudgets = memo.Derive(g.memo, stageRetryBudget, from(byBackend), deepEqual[*ir.RetryBudget],
		func(v *store.View, key string) *ir.RetryBudget {
			backend, ok := ir.ParseBackend(key)
			if !ok {
				return nil
			}
			return inputs.RetryBudget(v, backend.Service)
		})
	users := memo.Derive(g.memo, stageServiceUser, from(byGatewayBackend), deepEqual[ir.Name],
		func(_ *store.View, key string) ir.Name {
			_, name := splitKey(key)
			backend, _ := ir.ParseBackend(name)
			return backend.Service
		})
	byService := store.NewIndex(users, "service user.byService", func(_ string, service ir.Name) []string { return []string{service.String()} })
	g.trafficStatus = memo.Derive(g.memo, stageTrafficStatus, from(g.objects.BackendTrafficPolicies), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			return inputs.Status(v, func(service ir.Name) []string {
				var gateways []string
				for _, user := range byService.Keys(v, service.String()) {
					gateway, _ := splitKey(user)
					gateways = append(gateways, gateway)
				}
				return gateways
			}, key)
		})
}
