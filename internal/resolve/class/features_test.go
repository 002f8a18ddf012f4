package class_test

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/class"
)

func TestFeatures(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(class.Features) || len(slices.Compact(slices.Clone(class.Features))) != len(class.Features) {
		t.Errorf("not sorted, or one is there twice: %v", class.Features)
	}
	if most := 64; len(class.Features) > most {
		t.Errorf("%d features do not fit a GatewayClass's status, which holds %d", len(class.Features), most)
	}
}
