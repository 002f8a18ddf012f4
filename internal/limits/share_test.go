package limits_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/limits"
)

// items reads what owners have, from the oldest to the youngest: `a7` is an item of owner a that takes 7.
func items(text string) []limits.Item {
	var list []limits.Item
	for i, field := range strings.Fields(text) {
		weight := 0
		for _, digit := range field[1:] {
			weight = weight*10 + int(digit-'0')
		}
		list = append(list, limits.Item{Created: int64(i), Key: field, Owner: field[:1], Weight: weight})
	}
	return list
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, items string
		limit       int
		beyond      string
	}{
		{"room for all", "a4 b3 a3", 10, ""},
		{"of one owner the youngest", "a4 a4 a4", 10, "a4"},
		{"the one that takes more than its share, though it was there first", "a7 a2 b2", 10, "a2"},
		{"what others leave is used", "a8 b1 b1", 10, ""},
		{"two beyond their shares", "a6 b6 a1 b1 c2", 10, "a6 b6 a1 b1"},
		{"nothing of the one within its share", "a4 b9 c1", 10, "b9"},
		{"an item that takes nothing", "a9 a2 a0", 10, "a2"},
		{"more owners than room", "a1 b1 c1", 2, "a1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := items(c.items)
			shares := limits.Share(all, c.limit)
			var beyond []string
			for _, i := range all {
				if shares.Excludes(i) {
					beyond = append(beyond, i.Key)
				}
			}
			if want := strings.Fields(c.beyond); !slices.Equal(beyond, want) {
				t.Errorf("beyond are %v, want %v", beyond, want)
			}
		})
	}
}

// Whatever else is there, an owner that wants no more than an equal part has it.
func TestNoOwnerLosesItsShare(t *testing.T) {
	t.Parallel()
	for _, others := range []string{"", "b100", "b1 b1 b1 b1 b1 b1 b1 b1 b1 b1 b1 b1", "b7 c90 b90"} {
		all := items("a1 " + others + " a1 a1")
		shares := limits.Share(all, 9)
		for _, i := range all {
			if i.Owner == "a" && shares.Excludes(i) {
				t.Errorf("beside %q, %+v is beyond the budget", others, i)
			}
		}
	}
}

func TestTier(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, items, want string
	}{
		{"room for all", "a4 a5", "served served"},
		{"as many again answer errors", "a8 a4 a6", "served closed closed"},
		{"of an owner that has more than that, all do", "a8 a4 a6 a1 b1", "closed closed closed left-out served"},
		{"an item that takes nothing is not left out", "a8 a4 a6 a1 a0", "closed closed closed left-out closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := items(c.items)
			tiers := limits.Tier(all, 10)
			var got []string
			for _, i := range all {
				got = append(got, map[limits.Place]string{limits.Served: "served", limits.Closed: "closed", limits.LeftOut: "left-out"}[tiers.Of(i)])
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
			if tiers.Full() != strings.Contains(c.want, "left-out") || (tiers.Limit() == 10) != strings.Contains(c.want, "closed") {
				t.Errorf("full: %t, limit %d", tiers.Full(), tiers.Limit())
			}
		})
	}
}

func TestTierByWhatErrorsTake(t *testing.T) {
	t.Parallel()
	all := items("a6 a6 a6 b2")
	tiers := limits.TierBy(all, 10, func(limits.Item) int { return 1 })
	for i, want := range []limits.Place{limits.Served, limits.Closed, limits.Closed, limits.Served} {
		if got := tiers.Of(all[i]); got != want {
			t.Errorf("%s is at %d, want %d", all[i].Key, got, want)
		}
	}
	if own := tiers.Only("b"); own.Limit() != 0 || own.Full() {
		t.Errorf("b is beyond: %+v", own)
	}
	if own := tiers.Only("a"); own.Limit() != 10 || own.Of(all[2]) != limits.Closed {
		t.Errorf("a is beyond: %+v", own)
	}
}
