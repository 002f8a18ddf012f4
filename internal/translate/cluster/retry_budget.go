package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// limitRetries bounds the retries that are under way to what the budget allows.
func limitRetries(c *clusterv3.Cluster, budget *ir.RetryBudget) {
	if budget == nil {
		return
	}
	for _, limits := range c.GetCircuitBreakers().GetThresholds() {
		limits.MaxRetries = nil
		limits.RetryBudget = &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent:       &typev3.Percent{Value: float64(budget.Percent)},
			BudgetInterval:      durationpb.New(budget.Interval),
			MinRetryConcurrency: wrapperspb.UInt32(budget.Minimum),
		}
	}
}
