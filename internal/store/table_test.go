package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/store"
)

// words is a table of words with an index by first letter, and a list of what it reported.
func words() (*store.Table[string], *store.Index[string], *[]string) {
	s := store.New()
	table := store.NewTable[string](s, "word")
	index := store.NewIndex(table, "word.byLetter", func(_, word string) []string { return []string{word[:1]} })
	reported := &[]string{}
	s.OnChange(func(ref store.Ref) { *reported = append(*reported, s.Name(ref.Space)+":"+ref.Key) })
	return table, index, reported
}

func TestChangesAreReported(t *testing.T) {
	t.Parallel()
	table, _, reported := words()
	for _, c := range []struct {
		name string
		do   func()
		want []string
	}{
		{"a new record joins its bucket", func() { table.Set("1", "apple") }, []string{"word.byLetter:a", "word:1", "word.keys:"}},
		{"a record that stays in its bucket does not change it", func() { table.Set("1", "apricot") }, []string{"word:1"}},
		{"a record that moves changes both buckets", func() { table.Set("1", "bean") }, []string{"word.byLetter:a", "word.byLetter:b", "word:1"}},
		{"a deleted record leaves its bucket", func() { table.Delete("1") }, []string{"word.byLetter:b", "word:1", "word.keys:"}},
		{"deleting what is not there changes nothing", func() { table.Delete("1") }, nil},
	} {
		*reported = nil
		c.do()
		if !slices.Equal(*reported, c.want) {
			t.Errorf("%s: reported %q, want %q", c.name, *reported, c.want)
		}
	}
}

func TestIndexHoldsKeysByBucket(t *testing.T) {
	t.Parallel()
	table, index, _ := words()
	table.Set("2", "avocado")
	table.Set("1", "apple")
	table.Set("3", "bean")
	if got := index.Keys(nil, "a"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("bucket a holds %q", got)
	}
	table.Delete("1")
	if index.Len(nil, "a") != 1 || !index.Has("a") {
		t.Error("bucket a should hold one key")
	}
	table.Set("2", "cherry")
	if index.Has("a") {
		t.Error("bucket a should be gone")
	}
}

func TestViewRecordsHitsMissesAndBuckets(t *testing.T) {
	t.Parallel()
	table, index, _ := words()
	table.Set("1", "apple")
	v := store.NewView(100)
	table.Get(v, "1")
	table.Get(v, "none")
	index.Keys(v, "a")
	index.Len(v, "z")
	table.Keys(v)
	table.Get(v, "1")
	if v.Len() != 5 {
		t.Errorf("%d reads are recorded, want 5", v.Len())
	}
}

func TestTakeChangedListsEachKeyOnce(t *testing.T) {
	t.Parallel()
	table, _, _ := words()
	table.Set("0", "before")
	table.CollectChanges()
	table.Set("2", "b")
	table.Set("1", "a")
	table.Set("2", "c")
	table.Delete("0")
	if got := table.TakeChanged(); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("changed: %q", got)
	}
	if got := table.TakeChanged(); len(got) != 0 {
		t.Errorf("changed again: %q", got)
	}
}

func TestAStoreListsEveryTable(t *testing.T) {
	t.Parallel()
	s := store.New()
	store.NewTable[int](s, "first").Set("a", 1)
	store.NewTable[string](s, "second")
	var got []string
	for _, table := range s.Tables() {
		got = append(got, table.Name())
		table.Each(func(key string) {
			record, ok := table.Record(key)
			got = append(got, fmt.Sprint(key, " ", record, " ", ok))
		})
	}
	if want := []string{"first", "a 1 true", "second"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
