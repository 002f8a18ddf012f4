package client_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/client"
)

// TestEveryFieldIsPartOfASetting finds fields of the API that no setting takes over into the effective policy.
func TestEveryFieldIsPartOfASetting(t *testing.T) {
	t.Parallel()
	targets := []string{"targetRefs", "targetRef", "targetSelectors", "strategy"}
	var settings []string
	for i := range client.Kind.Settings {
		settings = append(settings, client.Kind.Settings[i].Name)
	}
	for _, path := range paths(reflect.TypeFor[client.Spec](), "") {
		if slices.Contains(targets, path) {
			continue
		}
		if !slices.ContainsFunc(settings, func(s string) bool { return path == s || strings.HasPrefix(path, s+".") }) {
			t.Errorf("no setting has the field %s; add one to settings.go, convert it, and add it to docs/policies", path)
		}
	}
}

// paths lists the fields of a struct, and of the structs below it, by their names in JSON.
func paths(t reflect.Type, prefix string) []string {
	var list []string
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		below := field.Type
		if below.Kind() == reflect.Pointer {
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && strings.Contains(below.PkgPath(), "gatewright") && below.NumField() > 0 {
			list = append(list, paths(below, prefix+name+".")...)
		} else {
			list = append(list, prefix+name)
		}
	}
	return list
}
