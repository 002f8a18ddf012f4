package status

import "slices"

// shared describes a list that several controllers write to.
type shared[E, W any] struct {
	// limit is the maximum size that the API accepts.
	limit int
	// ours reports whether we may change and remove an entry.
	ours func(entry E) bool
	// same reports whether an entry of ours is the wanted one.
	same func(entry E, wanted W) bool
	// update returns the wanted entry, given the stored one, which is the zero value for a new one.
	update func(stored E, wanted W) E
}

// merge merges the wanted entries into the list. Entries of others keep their content and position, ours are updated in place, new ones
// follow, and ours that are no longer wanted are removed. The API rejects a status with one entry too many, so entries of others count
// first against the limit, then ours in the wanted order. The result shares no mutable data with the list.
func (s shared[E, W]) merge(stored []E, wanted []W) []E {
	foreign := 0
	for _, entry := range stored {
		if !s.ours(entry) {
			foreign++
		}
	}
	wanted = wanted[:min(len(wanted), max(0, s.limit-foreign))]

	merged := make([]E, 0, foreign+len(wanted))
	has := func(w W) bool {
		return slices.ContainsFunc(merged, func(e E) bool { return s.ours(e) && s.same(e, w) })
	}
	for _, entry := range stored {
		if !s.ours(entry) {
			merged = append(merged, entry)
			continue
		}
		i := slices.IndexFunc(wanted, func(w W) bool { return s.same(entry, w) })
		if i >= 0 && !has(wanted[i]) {
			merged = append(merged, s.update(entry, wanted[i]))
		}
	}
	for _, w := range wanted {
		if !has(w) {
			var none E
			merged = append(merged, s.update(none, w))
		}
	}
	return merged
}
