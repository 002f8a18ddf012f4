package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

const maxFeatures = 64

// Class returns the status of a GatewayClass of ours. It is idempotent.
func Class(existing gwv1.GatewayClassStatus, o outcome.Class, now metav1.Time) gwv1.GatewayClassStatus {
	status := existing
	status.Conditions = mergeConditions(existing.Conditions, o.Conditions, classTypes, observation{o.Generation, now})
	status.SupportedFeatures = features(o.Features)
	return status
}

// features is sorted and without duplicates, as the standard requires.
func features(names []string) []gwv1.SupportedFeature {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	names = names[:min(len(names), maxFeatures)]
	supported := make([]gwv1.SupportedFeature, len(names))
	for i, name := range names {
		supported[i].Name = gwv1.FeatureName(name)
	}
	return supported
}
