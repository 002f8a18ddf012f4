package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// What is allowed where no policy says: the share of the standard's own default, of the requests that are under way. The standard counts
// those of the last ten seconds, for which Envoy has a timer on its main thread for each cluster.
//
// An endpoint that vanishes fails a large share of all requests in the same moment, and each can be served by another endpoint. So the
// number that is always allowed is large; docs/decisions/0020 has the reasons.
const (
	defaultRetryPercent = 20
	defaultRetryMinimum = 1000
)

// setRetryBudget bounds the retries that are under way to what the budget allows.
func setRetryBudget(c *clusterv3.Cluster, budget *ir.RetryBudget) {
	for _, limits := range c.GetCircuitBreakers().GetThresholds() {
		limits.RetryBudget = retryBudget(budget)
	}
}

func retryBudget(budget *ir.RetryBudget) *clusterv3.CircuitBreakers_Thresholds_RetryBudget {
	if budget == nil {
		return &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent:       &typev3.Percent{Value: defaultRetryPercent},
			MinRetryConcurrency: wrapperspb.UInt32(defaultRetryMinimum),
		}
	}
	return &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
		BudgetPercent:       &typev3.Percent{Value: float64(budget.Percent)},
		BudgetInterval:      durationpb.New(budget.Interval),
		MinRetryConcurrency: wrapperspb.UInt32(budget.Minimum),
	}
}
