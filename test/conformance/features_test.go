//go:build conformance

package conformance

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// TestGatewayClassDeclaresWhatIsTested compares the status that users see with the features of the run.
func TestGatewayClassDeclaresWhatIsTested(t *testing.T) {
	t.Parallel()
	var class gwv1.GatewayClass
	if err := conformance.DefaultOptions(t).Client.Get(t.Context(), types.NamespacedName{Name: gatewayClass}, &class); err != nil {
		t.Fatalf("get the GatewayClass: %v", err)
	}
	declared := make([]features.FeatureName, 0, len(class.Status.SupportedFeatures))
	for _, f := range class.Status.SupportedFeatures {
		declared = append(declared, features.FeatureName(f.Name))
	}
	if claimed := claimedFeatures(); !slices.Equal(declared, claimed) {
		t.Errorf("the GatewayClass declares %v\nthe run tests %v", declared, claimed)
	}
}
