package resolvetest

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/internal/store"
)

// Parse reads the documents of a YAML text as changes.
func Parse(text string) ([]store.Change, error) {
	var changes []store.Change
	for _, document := range strings.Split(text, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var head metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			return nil, fmt.Errorf("reading YAML: %w\n%s", err, document)
		}
		kind, ok := store.DescriptorOf(store.Kind(head.Kind))
		if !ok {
			return nil, fmt.Errorf("kind %q is not watched", head.Kind)
		}
		object := kind.New()
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			return nil, fmt.Errorf("reading a %s: %w\n%s", kind.Kind, err, document)
		}
		changes = append(changes, store.Change{Kind: kind.Kind, Key: store.KeyOf(object), Object: object})
	}
	return changes, nil
}

// Load is [Parse] for a text that must be right.
func Load(t *testing.T, text string) []store.Change {
	t.Helper()
	changes, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// Objects reads the documents of a YAML text into tables.
func Objects(t *testing.T, text string) *store.Objects {
	t.Helper()
	objects := store.NewObjects(store.New())
	for _, c := range Load(t, text) {
		objects.Apply(c)
	}
	return objects
}
