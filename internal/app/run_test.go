package app

import (
	"testing"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/store"
)

func TestTheSchemeKnowsWhatIsReadAndWritten(t *testing.T) {
	t.Parallel()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range render.Kinds {
		if !scheme.Recognizes(kind) {
			t.Errorf("%s cannot be applied", kind)
		}
	}
	for _, kind := range store.Kinds {
		if _, _, err := scheme.ObjectKinds(kind.Object); err != nil {
			t.Errorf("%s cannot be watched: %v", kind.Kind, err)
		}
	}
}
