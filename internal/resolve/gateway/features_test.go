package gateway_test

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/gateway"
)

func TestFeatures(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(gateway.Features) || len(slices.Compact(slices.Clone(gateway.Features))) != len(gateway.Features) {
		t.Errorf("not sorted, or one is there twice: %v", gateway.Features)
	}
	if most := 64; len(gateway.Features) > most {
		t.Errorf("%d features do not fit a GatewayClass's status, which holds %d", len(gateway.Features), most)
	}
}
