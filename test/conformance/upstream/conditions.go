package upstream

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	confsuite "sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// grpcRouteMustHaveCondition waits until a GRPCRoute has a condition at every parent. An empty reason is any.
func grpcRouteMustHaveCondition(t *testing.T, suite *confsuite.ConformanceTestSuite, routeNN types.NamespacedName, want metav1.Condition) {
	t.Helper()
	var last gwv1.RouteStatus
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, suite.TimeoutConfig.HTTPRouteMustHaveCondition, true,
		func(ctx context.Context) (bool, error) {
			var route gwv1.GRPCRoute
			if err := suite.Client.Get(ctx, routeNN, &route); err != nil {
				return false, err
			}
			last = route.Status.RouteStatus
			for _, parent := range last.Parents {
				got := meta.FindStatusCondition(parent.Conditions, want.Type)
				if got == nil || got.Status != want.Status || want.Reason != "" && got.Reason != want.Reason {
					return false, nil
				}
			}
			return len(last.Parents) > 0, nil
		})
	if err != nil {
		t.Errorf("GRPCRoute %s does not have condition %+v: %v; its status is %+v", routeNN, want, err, last)
	}
}
