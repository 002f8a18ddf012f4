package store_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/store"
)

func TestTotalsFollowTheRecords(t *testing.T) {
	t.Parallel()
	type row struct {
		bucket string
		items  []string
	}
	s := store.New()
	table := store.NewTable[row](s, "rows")
	sums := store.NewSums(table, "sums", func(_ string, r row) map[string]int { return map[string]int{r.bucket: len(r.items)} })
	distinct := store.NewDistinct(
		table, "distinct", func(_ string, r row) map[string][]string { return map[string][]string{r.bucket: r.items} },
	)
	changed := map[string]int{}
	s.OnChange(func(ref store.Ref) { changed[s.Name(ref.Space)]++ })

	check := func(when, bucket string, sum, different int) {
		t.Helper()
		if got := sums.Get(nil, bucket); got != sum {
			t.Errorf("%s, the sum of %s is %d, want %d", when, bucket, got, sum)
		}
		if got := distinct.Len(nil, bucket); got != different {
			t.Errorf("%s, %s has %d different items, want %d", when, bucket, got, different)
		}
	}
	table.Set("one", row{"a", []string{"x", "y"}})
	table.Set("two", row{"a", []string{"x"}})
	check("with two", "a", 3, 2)
	clear(changed)
	table.Set("two", row{"a", []string{"x"}})
	table.Set("two", row{"a", []string{"y"}})
	if changed["sums"] != 0 || changed["distinct"] != 0 {
		t.Errorf("nothing is different, and %v changed", changed)
	}
	check("after a change of items", "a", 3, 2)
	table.Set("two", row{"b", []string{"x", "z"}})
	check("after a move", "a", 2, 2)
	check("after a move", "b", 2, 2)
	table.Delete("one")
	check("after a deletion", "a", 0, 0)
	check("after a deletion", "b", 2, 2)
}
