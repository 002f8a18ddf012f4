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
	// Owner is the one that a shared budget is charged to; see [Share].
	Owner string
	// Weight is what it takes.
	Weight int
}

// Compare orders items by age, then by key.
func (i Item) Compare(other Item) int {
	return cmp.Or(cmp.Compare(i.Created, other.Created), cmp.Compare(i.Key, other.Key))
}

// Cutoff is the first item that a budget has no room for, and all after it. The zero value has room for all.
type Cutoff struct {
	Created int64
	Key     string
	// Limit is what there is. What all together would take is not here: it changes with every new object, and so would all messages.
	Limit int
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
	sorted := slices.SortedFunc(slices.Values(items), Item.Compare)
	taken := 0
	for _, i := range sorted {
		if taken += i.Weight; taken > limit {
			return Cutoff{Created: i.Created, Key: i.Key, Limit: limit}
		}
	}
	return Cutoff{}
}

// Excludes says whether an item is beyond the cutoff.
func (c Cutoff) Excludes(created int64, key string) bool {
	return c.Key != "" && Item{Created: created, Key: key}.Compare(Item{Created: c.Created, Key: c.Key}) >= 0
}
