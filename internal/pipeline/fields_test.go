package pipeline

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/store"
)

// TestEveryFieldIsDecided compares the fields of every kind with the list of what becomes of each.
func TestEveryFieldIsDecided(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	decided := map[string]string{}
	for line := range strings.Lines(string(content)) {
		path, decision, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path == "" || path == "#" {
			continue
		}
		if !slices.Contains([]string{"served", "refused", "named", "informational", "unused"}, decision) || decided[path] != "" {
			t.Errorf("%q is no decision, or the second", line)
		}
		decided[path] = decision
	}
	for _, custom := range store.CRDKinds {
		spec, ok := reflect.TypeOf(custom.Object).Elem().FieldByName("Spec")
		if !ok || !custom.OfStandard() {
			continue
		}
		for _, path := range fields(string(custom.Kind), spec.Type) {
			if decided[path] == "" {
				t.Errorf("%s is not decided: serve it, or name it in a condition, and add it to testdata/fields.txt", path)
			}
			delete(decided, path)
		}
	}
	for path := range decided {
		t.Errorf("there is no field %s any more", path)
	}
}

// fields lists the paths of all fields that hold a value, by their names in YAML. A type of Kubernetes itself is one value.
func fields(path string, t reflect.Type) []string {
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		return fields(path, t.Elem())
	case t.Kind() != reflect.Struct || !ofStandard(t.PkgPath()):
		return []string{path}
	}
	var paths []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" {
			name = "." + name
		}
		paths = append(paths, fields(path+name, t.Field(i).Type)...)
	}
	return paths
}

func ofStandard(path string) bool {
	return strings.HasPrefix(path, "sigs.k8s.io/gateway-api") || strings.HasPrefix(path, "sigs.k8s.io/mcs-api")
}
