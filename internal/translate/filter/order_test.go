package filter_test

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestChain(t *testing.T) {
	t.Parallel()
	chain := filter.Chain(0)
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
	t.Run("has the places before routing first", func(t *testing.T) {
		t.Parallel()
		got := filter.Chain(2)
		if len(got) != len(chain)+2 || got[0].GetName() != filter.BeforeRouting(0) || got[1].GetName() != filter.BeforeRouting(1) {
			t.Errorf("chain: %v", got)
		}
	})
	t.Run("ends with the router", func(t *testing.T) {
		t.Parallel()
		if at := slices.Index(names, filter.Router); at != len(names)-1 {
			t.Errorf("router is at %d of %v: what stands after it never sees a request", at, names)
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
