package prototest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// enum is a type of the API with its values.
var enum = regexp.MustCompile(`// \+kubebuilder:validation:Enum=(.*)\ntype (\w+) string`)

// CheckAPIValues fails the test unless every value that the API allows for these types is known. The IR has the values as they are, so a
// package that translates them repeats them. It is for packages below internal/translate.
func CheckAPIValues(t *testing.T, known map[string]func(value string) bool) {
	t.Helper()
	for name, knows := range known {
		for _, value := range apiValues(t, name) {
			if !knows(value) {
				t.Errorf("%s %q is not known", name, value)
			}
		}
	}
}

// apiValues returns the values that the API allows for a type.
func apiValues(t *testing.T, name string) []string {
	t.Helper()
	files, err := filepath.Glob("../../../api/v1alpha1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a file of the repository
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range enum.FindAllSubmatch(text, -1) {
			if string(found[2]) == name {
				return strings.Split(strings.ReplaceAll(string(found[1]), `"`, ""), ";")
			}
		}
	}
	t.Fatalf("the API has no type %s with a list of values", name)
	return nil
}
