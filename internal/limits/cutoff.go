package limits

import (
	"cmp"
	"slices"
)

// Item is an object that takes part in a budget.
type Item struct {
	// Created and Key are its place in the queue: who was there first stays.
	Created int64
	Key     string
	// Weight is what it takes.
	Weight int
}

func (i Item) compare(other Item) int {
	return cmp.Or(cmp.Compare(i.Created, other.Created), cmp.Compare(i.Key, other.Key))
}

// Cutoff is the first item that a budget has no room for, and everybody after it. The zero value has room for all.
type Cutoff struct {
	Created int64
	Key     string
	// Wanted is what all together would take, and Limit what there is.
	Wanted, Limit int
}

// Find finds the cutoff of a budget.
func Find(items []Item, limit int) Cutoff {
	wanted := 0
	for _, i := range items {
		wanted += i.Weight
	}
	if wanted <= limit {
		return Cutoff{}
	}
	sorted := slices.SortedFunc(slices.Values(items), Item.compare)
	taken := 0
	for _, i := range sorted {
		if taken += i.Weight; taken > limit {
			return Cutoff{Created: i.Created, Key: i.Key, Wanted: wanted, Limit: limit}
		}
	}
	return Cutoff{}
}

// Excludes says whether an item is beyond the cutoff.
func (c Cutoff) Excludes(created int64, key string) bool {
	return c.Limit > 0 && Item{Created: created, Key: key}.compare(Item{Created: c.Created, Key: c.Key}) >= 0
}
