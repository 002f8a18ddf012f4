package memo_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
)

// sheet is a small graph: words grouped by first letter, and a text that lists the groups.
type sheet struct {
	words  *store.Table[string]
	graph  *memo.Graph
	groups *store.Table[string]
	texts  *store.Table[string]
}

func newSheet(options ...memo.Option) *sheet {
	s := store.New()
	sh := &sheet{words: store.NewTable[string](s, "word")}
	sh.graph = memo.New(s, options...)
	byLetter := store.NewIndex(sh.words, "word.byLetter", func(_, word string) []string { return []string{word[:1]} })
	equal := func(a, b string) bool { return a == b }
	sh.groups = memo.Derive(sh.graph, "group", []store.Source{byLetter}, equal, func(v *store.View, letter string) string {
		var list []string
		for _, key := range byLetter.Keys(v, letter) {
			word, _ := sh.words.Get(v, key)
			list = append(list, strings.ToLower(word))
		}
		return strings.Join(list, ",")
	})
	sh.texts = memo.Derive(sh.graph, "text", []store.Source{sh.groups}, equal, func(v *store.View, letter string) string {
		group, _ := sh.groups.Get(v, letter)
		if footnote, ok := sh.words.Get(v, "footnote-"+letter); ok {
			return group + "*" + footnote
		}
		return group
	})
	return sh
}

//nolint:paralleltest // each step builds on the one before
func TestRunComputesOnlyWhatReadAChange(t *testing.T) {
	t.Parallel()
	sh := newSheet()
	sh.words.Set("1", "apple")
	sh.words.Set("2", "bean")
	sh.words.Set("3", "Avocado")
	sh.graph.Run()

	check := func(t *testing.T, report memo.Report, stage string, computed, changed int) {
		t.Helper()
		if report.Computed[stage] != computed || report.Changed[stage] != changed {
			t.Errorf("%s: computed %d, changed %d; want %d and %d", stage, report.Computed[stage], report.Changed[stage], computed, changed)
		}
	}

	t.Run("nothing changed, nothing computed", func(t *testing.T) {
		report := sh.graph.Run()
		check(t, report, "group", 0, 0)
	})
	t.Run("one record changed, its readers computed", func(t *testing.T) {
		sh.words.Set("1", "apricot")
		report := sh.graph.Run()
		check(t, report, "group", 1, 1)
		check(t, report, "text", 1, 1)
	})
	t.Run("an equal result stops", func(t *testing.T) {
		sh.words.Set("2", "bEAN")
		report := sh.graph.Run()
		check(t, report, "group", 1, 0)
		check(t, report, "text", 0, 0)
	})
	t.Run("a miss was recorded", func(t *testing.T) {
		sh.words.Set("footnote-b", "x")
		report := sh.graph.Run()
		check(t, report, "text", 2, 2) // b has a footnote now, and x is a new group
		if text, _ := sh.texts.Get(nil, "b"); text != "bean*x" {
			t.Errorf("text b is %q", text)
		}
	})
	t.Run("the last record of a bucket takes the value with it", func(t *testing.T) {
		sh.words.Delete("2")
		sh.graph.Run()
		if _, ok := sh.groups.Get(nil, "b"); ok {
			t.Error("group b is still there")
		}
		if _, ok := sh.texts.Get(nil, "b"); ok {
			t.Error("text b is still there")
		}
	})
}

func TestWithoutCacheComputesEverything(t *testing.T) {
	t.Parallel()
	sh := newSheet(memo.WithoutCache())
	sh.words.Set("1", "apple")
	sh.words.Set("2", "bean")
	sh.graph.Run()
	if report := sh.graph.Run(); report.Computed["group"] != 2 || report.Changed["group"] != 0 {
		t.Errorf("report is %+v", report)
	}
}

func TestReadingALaterStagePanics(t *testing.T) {
	t.Parallel()
	s := store.New()
	words := store.NewTable[string](s, "word")
	g := memo.New(s)
	var later *store.Table[string]
	equal := func(a, b string) bool { return a == b }
	memo.Derive(g, "early", []store.Source{words}, equal, func(v *store.View, key string) string {
		value, _ := later.Get(v, key)
		return value
	})
	later = memo.Derive(g, "late", []store.Source{words}, equal, func(*store.View, string) string { return "" })
	words.Set("a", "a")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	g.Run()
}

func TestReadersOfWhatIsGoneAreForgotten(t *testing.T) {
	t.Parallel()
	sh := newSheet()
	for i := range 20_000 {
		key := strings.Repeat("k", 1+i%7)
		sh.words.Set(key, string(rune('a'+i%26))+"x")
		sh.graph.Run()
		sh.words.Delete(key)
		sh.graph.Run()
	}
	if n := sh.graph.Entries(); n > 4096 {
		t.Errorf("%d recorded reads are kept for a store that is empty", n)
	}
}

func TestAPanicStaysWithItsKey(t *testing.T) {
	t.Parallel()
	s := store.New()
	words := store.NewTable[string](s, "word")
	graph := memo.New(s, memo.ContainPanics())
	equal := func(a, b string) bool { return a == b }
	shout := func(v *store.View, key string) string {
		word, _ := words.Get(v, key)
		if word == "bad" {
			panic("bad word")
		}
		return strings.ToUpper(word)
	}
	loud := memo.Derive(graph, "loud", []store.Source{words}, equal, shout)
	derived := memo.Derive(graph, "derived", []store.Source{words}, equal, shout,
		memo.OnPanic(func(_ *store.View, _, last, reason string) string { return last + "? " + reason }))
	longer := memo.Derive(graph, "longer", []store.Source{loud}, equal, func(v *store.View, key string) string {
		word, _ := loud.Get(v, key)
		return word + "!"
	})
	expect := func(t *testing.T, table *store.Table[string], key, want string) {
		t.Helper()
		if got, _ := table.Get(nil, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}

	words.Set("a", "good")
	words.Set("b", "bad")
	report := graph.Run()
	if len(report.Failed) != 2 || report.Failed[0].Stage != "loud" || report.Failed[0].Key != "b" || report.Failed[0].Reason != "bad word" ||
		!strings.Contains(report.Failed[0].Stack, "graph_test.go") {
		t.Errorf("failed: %+v, want b in loud and derived", report.Failed)
	}
	expect(t, longer, "a", "GOOD!")
	expect(t, derived, "b", "? bad word")
	if loud.Has("b") {
		t.Error("b has a value that was never computed")
	}

	// What was good stays, and the key is looked at again when what it read changes.
	words.Set("a", "bad")
	if report = graph.Run(); len(report.Failed) != 2 {
		t.Errorf("failed: %+v, want a in both", report.Failed)
	}
	expect(t, longer, "a", "GOOD!")
	expect(t, derived, "a", "GOOD? bad word")
	words.Set("a", "fine")
	words.Delete("b")
	if report = graph.Run(); len(report.Failed) != 0 || len(report.Recovered) != 4 {
		t.Errorf("failed %+v, recovered %+v; want a and b recovered in both", report.Failed, report.Recovered)
	}
	expect(t, longer, "a", "FINE!")
	expect(t, derived, "a", "FINE")
}
