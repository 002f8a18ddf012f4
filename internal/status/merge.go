package status

import "slices"

// shared describes a list that several controllers write to.
type shared[E, W any] struct {
	// limit is the largest size the API accepts.
	limit int
	// ours says whether an entry is for us to change and remove.
	ours func(entry E) bool
	// same says whether an entry of ours is the one wanted.
	same func(entry E, wanted W) bool
	// update makes the wanted entry from the one that is stored, which is the zero value for a new one.
	update func(stored E, wanted W) E
}

// merge brings what we want into the list. Entries of others stay what and where they are, ours are updated in place, new ones follow,
// and ours that are no longer wanted go. One entry too many would make the API refuse the whole status, so what others wrote
// counts first against the limit, then ours in the order wanted. The result shares nothing with the list that could be changed through it.
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
