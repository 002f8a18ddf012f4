package filter_test

import (
	"slices"
	"testing"

	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"

	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestChain(t *testing.T) {
	t.Parallel()
	chain := filter.Chain(0, false)
	names := make([]string, len(chain))
	for i, f := range chain {
		prototest.Valid(t, f)
		names[i] = f.GetName()
	}
	t.Run("has the filters in their order", func(t *testing.T) {
		t.Parallel()
		if !slices.Equal(names, filter.Names()) {
			t.Errorf("chain is %v, order is %v", names, filter.Names())
		}
	})
	t.Run("has the places before routing behind loop detection", func(t *testing.T) {
		t.Parallel()
		got := filter.Chain(2, false)
		if len(got) != len(chain)+2 || got[1].GetName() != filter.Loops || got[2].GetName() != filter.BeforeRouting(0) || got[3].GetName() != filter.BeforeRouting(1) {
			t.Errorf("chain: %v", got)
		}
	})
	t.Run("hides Envoy after everything else has seen an answer", func(t *testing.T) {
		t.Parallel()
		if names[0] != filter.HideEnvoy || filter.Unneeded()[filter.HideEnvoy] != nil {
			t.Errorf("%s is behind others of %v, or off", filter.HideEnvoy, names)
		}
	})
	t.Run("ends with the router", func(t *testing.T) {
		t.Parallel()
		if at := slices.Index(names, filter.Router); at != len(names)-1 {
			t.Errorf("router is at %d of %v: what stands after it never sees a request", at, names)
		}
	})
	t.Run("counts for each backend only if that is wanted", func(t *testing.T) {
		t.Parallel()
		for _, wanted := range []bool{false, true} {
			all := filter.Chain(0, wanted)
			var router routerv3.Router
			if err := all[len(all)-1].GetTypedConfig().UnmarshalTo(&router); err != nil {
				t.Fatal(err)
			}
			// Envoy counts unless it is told not to.
			if counts := router.GetDynamicStats() == nil || router.GetDynamicStats().GetValue(); counts != wanted {
				t.Errorf("counts: %t, want %t", counts, wanted)
			}
		}
	})
	t.Run("has no filter twice", func(t *testing.T) {
		t.Parallel()
		sorted := slices.Sorted(slices.Values(names))
		if len(slices.Compact(sorted)) != len(names) {
			t.Errorf("a filter is there twice: %v", names)
		}
	})
}
