package endpoints

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
)

// within keeps as many targets as a backend may have: those that come first, and those elsewhere only if there is room. Which ones does not
// depend on the others: when one comes or goes, at most one other does. They are from all zones alike.
func within(targets []target, limit int) []target {
	if len(targets) <= limit {
		return targets
	}
	type ranked struct {
		elsewhere int
		rank      uint64
		at        int
	}
	order := make([]ranked, len(targets))
	for i, t := range targets {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(t.address + "|" + strconv.FormatUint(uint64(t.port), 10)))
		order[i] = ranked{rank: hash.Sum64(), at: i}
		if t.elsewhere {
			order[i].elsewhere = 1
		}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.elsewhere, b.elsewhere), cmp.Compare(a.rank, b.rank), cmp.Compare(a.at, b.at))
	})
	order = order[:limit]
	slices.SortFunc(order, func(a, b ranked) int { return cmp.Compare(a.at, b.at) })
	kept := make([]target, 0, limit)
	for _, o := range order {
		kept = append(kept, targets[o.at])
	}
	return kept
}
