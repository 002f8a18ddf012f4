package pipeline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// FuzzObjects feeds whatever reads as YAML of a watched kind through both lanes: nothing a user can write makes them panic, and what
// goes in one by one gives what goes in at once.
func FuzzObjects(f *testing.F) {
	cases, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range cases {
		text, err := os.ReadFile(path) //nolint:gosec // the test's own files
		if err != nil {
			f.Fatal(err)
		}
		f.Add(base + string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := resolvetest.Parse(text)
		if err != nil {
			return // not objects
		}
		single, whole := newBoth(), newBoth()
		latest := map[subject]store.Change{}
		for _, c := range changes {
			single.apply(c)
			single.run()
			latest[subject{c.Kind, c.Key}] = c
		}
		for _, c := range latest {
			whole.apply(c)
		}
		whole.run()
		if diff := difference(t, whole, single); diff != "" {
			t.Errorf("at once (-) and one by one (+):\n%s", diff)
		}
	})
}
