package status

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// ReleaseGateway removes what we wrote on a Gateway before that generation, and forgets it, because it is no longer ours. A Gateway
// without status of ours is not touched.
func (w *Writer) ReleaseGateway(key string, generation int64) {
	i := item{store.Gateway, key}
	if wanted, _ := w.wanted(i); wanted == nil {
		return
	}
	w.set(i, true, func(ctx context.Context, last string) (string, error) {
		return w.targets.release(ctx, w, key, generation, last)
	})
}

func release(existing gwv1.GatewayStatus, generation int64, _ metav1.Time) gwv1.GatewayStatus {
	return Released(existing, generation)
}

// Released returns the status of a Gateway without what we wrote before that generation. Conditions of Gateways do not name their
// controller, so if one of ours has that generation or a later one, another controller has adopted the Gateway, and all of them are its
// own.
func Released(existing gwv1.GatewayStatus, generation int64) gwv1.GatewayStatus {
	var foreign []metav1.Condition
	for _, condition := range existing.Conditions {
		switch {
		case !gatewayTypes[condition.Type]:
			foreign = append(foreign, condition)
		case condition.ObservedGeneration >= generation:
			return existing
		}
	}
	status := existing
	status.Conditions, status.Addresses, status.Listeners, status.AttachedListenerSets = foreign, nil, nil, nil
	return status
}
