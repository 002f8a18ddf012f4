package render

import (
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// TestNamesOfTheStandard: the package imports no types of the Gateway API, so it repeats their names.
func TestNamesOfTheStandard(t *testing.T) {
	t.Parallel()
	for own, standard := range map[string]string{
		GatewayNameLabel: gwv1.GatewayNameLabelKey, OwnerAPIVersion: gwv1.GroupVersion.String(), OwnerKind: string(store.Gateway),
	} {
		if own != standard {
			t.Errorf("got %q, want %q", own, standard)
		}
	}
}
