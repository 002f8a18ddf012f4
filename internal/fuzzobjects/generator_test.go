package fuzzobjects

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// notMade are watched kinds that no Generator makes objects of.
var notMade = []store.Kind{store.Node}

func TestObjectsOfEveryKindAreMade(t *testing.T) {
	t.Parallel()
	for _, kind := range store.Kinds {
		made := slices.ContainsFunc(makers, func(m struct {
			kind store.Kind
			make func(w Generator) metav1.Object
		},
		) bool {
			return m.kind == kind.Kind
		})
		if made == slices.Contains(notMade, kind.Kind) {
			t.Errorf("objects of %s are made: %t", kind.Kind, made)
		}
	}
}
