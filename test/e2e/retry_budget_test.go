//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/test/live"
)

// TestRetryBudget sends requests to a backend that fails: without a policy each is tried four times, as long as there are few, with one
// hardly any is tried again. It needs the experimental channel.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	// Ten may be tried again at a time, whatever the number of requests under way.
	const clients, attempts = 10, 3
	w := newFixture(t)
	w.needExperimental(t)
	var tries atomic.Int32
	w.ServeHere(t, "failing", func(response http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		time.Sleep(100 * time.Millisecond)
		response.WriteHeader(http.StatusServiceUnavailable)
	})
	address := w.Gateway(t, "gateway")
	route := live.HTTPRoute("retry", "gateway", "retry.example.com", "failing")
	route.Spec.Rules[0].Retry = &gwv1.HTTPRouteRetry{
		Attempts: new(attempts), Codes: []gwv1.HTTPRouteRetryStatusCode{http.StatusServiceUnavailable},
	}
	w.Make(t, route)
	burst := func(ctx context.Context) int32 {
		tries.Store(0)
		var wait sync.WaitGroup
		for range clients {
			wait.Go(func() { _, _ = w.ask(ctx, address, "retry.example.com", "", nil) })
		}
		wait.Wait()
		return tries.Load()
	}
	live.Eventually(t, time.Minute, time.Second, func(ctx context.Context) error {
		if got := burst(ctx); got != clients*(1+attempts) {
			return fmt.Errorf("without a policy %d requests became %d tries, want %d each", clients, got, 1+attempts)
		}
		return nil
	})

	policy := &gwxv1alpha1.XBackendTrafficPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "budget"},
		Spec: gwxv1alpha1.BackendTrafficPolicySpec{
			TargetRefs: []gwv1.LocalPolicyTargetReference{{Kind: "Service", Name: "failing"}},
			RetryConstraint: &gwxv1alpha1.RetryConstraint{
				Budget:       &gwxv1alpha1.BudgetDetails{Percent: new(1), Interval: new(gwv1.Duration("1s"))},
				MinRetryRate: &gwxv1alpha1.RequestRate{Count: new(1), Interval: new(gwv1.Duration("1s"))},
			},
		},
	}
	w.Make(t, policy)
	live.Eventually(t, time.Minute, time.Second, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return fmt.Errorf("get the policy: %w", err)
		}
		if len(policy.Status.Ancestors) != 1 || !meta.IsStatusConditionTrue(
			policy.Status.Ancestors[0].Conditions, string(gwv1.PolicyConditionAccepted),
		) {
			return fmt.Errorf("the policy is not accepted: %+v", policy.Status)
		}
		if got := burst(ctx); got > clients*3/2 {
			return fmt.Errorf("with a budget %d requests became %d tries", clients, got)
		}
		return nil
	})
}
