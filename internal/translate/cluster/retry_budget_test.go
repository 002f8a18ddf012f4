package cluster_test

import (
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestRetryBudget(t *testing.T) {
	t.Parallel()
	c := cluster.Cluster(ir.Backend{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP1},
		cluster.Options{Policy: &ir.DestinationPolicy{RetryBudget: &ir.RetryBudget{Percent: 25, Interval: 10 * time.Second, Minimum: 3}}})
	prototest.Valid(t, c)
	for _, limits := range c.GetCircuitBreakers().GetThresholds() {
		budget := limits.GetRetryBudget()
		if budget.GetBudgetPercent().GetValue() != 25 || budget.GetBudgetInterval().AsDuration() != 10*time.Second ||
			budget.GetMinRetryConcurrency().GetValue() != 3 {
			t.Errorf("budget: %v", budget)
		}
		if limits.GetMaxRetries() != nil {
			t.Error("a number of retries stands beside the budget")
		}
	}
}
