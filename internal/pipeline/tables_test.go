package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/store"
)

// difference compares every table of two runs, and the fleets that they publish. It is empty if all are equal. Tables are those that the
// stores list, so that a new one is compared without an entry here.
func difference(t *testing.T, want, got both) string {
	t.Helper()
	lines := differentTables(t, want.config.store, got.config.store)
	lines = append(lines, differentTables(t, want.endpoints.store, got.endpoints.store)...)
	for _, key := range want.config.gateways.Keys(nil) {
		if a, b := want.config.effectiveGateway(nil)(key).Gateway, got.config.effectiveGateway(nil)(key).Gateway; !reflect.DeepEqual(a, b) {
			lines = append(lines, describeDifference("fleet", key, a, b))
		}
	}
	return strings.Join(lines, "\n")
}

func differentTables(t *testing.T, want, got *store.Store) []string {
	t.Helper()
	var lines []string
	others := got.Tables()
	for i, table := range want.Tables() {
		other := others[i]
		keys := map[string]struct{}{}
		add := func(key string) { keys[key] = struct{}{} }
		table.Each(add)
		other.Each(add)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			a, hasA := table.Record(key)
			b, hasB := other.Record(key)
			if hasA != hasB || !sameRecord(t, table.Name(), key, a, b) {
				lines = append(lines, describeDifference(table.Name(), key, a, b))
			}
		}
	}
	return lines
}

// sameRecord compares records. Of a resource it compares the version, which is a SHA-256 of the bytes. No resource may be invalid.
func sameRecord(t *testing.T, table, key string, a, b any) bool {
	t.Helper()
	first, isResource := resourceOf(a)
	second, _ := resourceOf(b)
	if !isResource {
		return reflect.DeepEqual(a, b)
	}
	if len(first.invalid) > 0 {
		t.Errorf("%s %s: the last check found %v", table, key, first.invalid)
	}
	return sameTranslation(first, second) && first.idle == second.idle
}

func resourceOf(record any) (translation, bool) {
	switch r := record.(type) {
	case translation:
		return r, true
	case assignment:
		return r.translation, true
	default:
		return translation{}, false
	}
}

func describeDifference(table, key string, want, got any) string {
	text := func(record any) string {
		if r, ok := resourceOf(record); ok {
			return fmt.Sprintf("version %q, limit %q", version(r.resource), r.limit)
		}
		written, err := json.Marshal(record)
		if err != nil {
			return fmt.Sprintf("%+v", record)
		}
		return string(written)
	}
	return fmt.Sprintf("%s %s\n- %s\n+ %s", table, key, text(want), text(got))
}

// TestEveryTableIsCompared removes a record of each table in turn, and expects [difference] to find it.
func TestEveryTableIsCompared(t *testing.T) {
	t.Parallel()
	w := fuzzobjects.New(11, 12)
	want, got := newBoth(), newBoth()
	for range 2000 {
		c := w.Change()
		want.apply(c)
		got.apply(c)
	}
	want.run()
	got.run()
	if diff := difference(t, want, got); diff != "" {
		t.Fatalf("two runs with the same objects differ:\n%s", diff)
	}
	var empty []string
	for _, s := range []*store.Store{got.config.store, got.endpoints.store} {
		for _, table := range s.Tables() {
			var keys []string
			table.Each(func(key string) { keys = append(keys, key) })
			if len(keys) == 0 {
				empty = append(empty, table.Name())
				continue
			}
			key := slices.Min(keys)
			table.Delete(key)
			if diff := difference(t, want, got); !strings.Contains(diff, table.Name()+" "+key+"\n") {
				t.Errorf("record %q of table %q is not compared", key, table.Name())
			}
		}
	}
	t.Logf("tables without a record: %q", empty)
}
