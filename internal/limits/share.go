package limits

import (
	"cmp"
	"slices"
)

// Shares are the owners that want more than their share of a budget, with the first of their items that they have no room for.
type Shares map[string]Cutoff

// Share divides a budget among the owners of items. An owner that wants no more than an equal share has all that it wants, and what it
// leaves is for the others: no owner loses anything because of what another one takes beyond its share.
func Share(items []Item, limit int) Shares {
	byOwner, wanted, total := map[string][]Item{}, map[string]int{}, 0
	for _, i := range items {
		byOwner[i.Owner] = append(byOwner[i.Owner], i)
		wanted[i.Owner] += i.Weight
		total += i.Weight
	}
	if total <= limit {
		return nil
	}
	owners := make([]string, 0, len(byOwner))
	for owner := range byOwner {
		owners = append(owners, owner)
	}
	slices.SortFunc(owners, func(a, b string) int { return cmp.Or(cmp.Compare(wanted[a], wanted[b]), cmp.Compare(a, b)) })
	shares, room := Shares{}, limit
	for i, owner := range owners {
		share := room / (len(owners) - i)
		if wanted[owner] <= share {
			room -= wanted[owner]
			continue
		}
		cutoff := Find(byOwner[owner], share)
		cutoff.Limit = limit
		shares[owner] = cutoff
		room -= share
	}
	return shares
}

// Excludes says whether an item is beyond the share of its owner. One that takes nothing never is.
func (s Shares) Excludes(i Item) bool {
	cutoff, exceeded := s[i.Owner]
	return exceeded && i.Weight > 0 && cutoff.Excludes(i.Created, i.Key)
}

// Place is where an item stands in a budget that has room for as many again that only answer errors.
type Place uint8

const (
	// Served is within the budget.
	Served Place = iota
	// Closed answers errors.
	Closed
	// LeftOut is not there at all.
	LeftOut
)

// Tiers are a budget that has room for as many items again that only answer errors. An owner that has more than that is closed with all its
// items, so that none of them gets what was meant for one that is left out.
type Tiers struct {
	Closed, LeftOut Shares
}

// Tier divides a budget among the owners of items.
func Tier(items []Item, limit int) Tiers {
	return TierBy(items, limit, func(i Item) int { return i.Weight })
}

// TierBy is [Tier] for items that take something else while they answer errors, as closed says.
func TierBy(items []Item, limit int, closed func(Item) int) Tiers {
	tiers := Tiers{Closed: Share(items, limit)}
	var errors []Item
	for _, i := range items {
		if tiers.Closed.Excludes(i) {
			i.Weight = closed(i)
			errors = append(errors, i)
		}
	}
	tiers.LeftOut = Share(errors, limit)
	return tiers
}

// Of is the place of an item.
func (t Tiers) Of(i Item) Place { return t.OfBoth(i, i.Weight) }

// OfBoth is [Tiers.Of] for an item that takes something else while it answers errors.
func (t Tiers) OfBoth(i Item, closedWeight int) Place {
	closed := t.Closed.Excludes(i)
	_, full := t.LeftOut[i.Owner]
	i.Weight = closedWeight
	switch {
	case closed && t.LeftOut.Excludes(i):
		return LeftOut
	case closed || full:
		return Closed
	default:
		return Served
	}
}

// Only is what becomes of the items of one owner.
func (t Tiers) Only(owner string) Tiers {
	var own Tiers
	if cutoff, exceeded := t.Closed[owner]; exceeded {
		own.Closed = Shares{owner: cutoff}
	}
	if cutoff, exceeded := t.LeftOut[owner]; exceeded {
		own.LeftOut = Shares{owner: cutoff}
	}
	return own
}

// Full says whether anything is left out.
func (t Tiers) Full() bool { return len(t.LeftOut) > 0 }

// Limit is that of the budget if anything is beyond it, and otherwise 0.
func (t Tiers) Limit() int {
	for _, cutoff := range t.Closed {
		return cutoff.Limit
	}
	return 0
}
