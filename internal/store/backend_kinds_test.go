package store

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestBackendsHaveTheKindsOfTheirObjects: notices find the object of a backend by the kind that the backend has.
func TestBackendsHaveTheKindsOfTheirObjects(t *testing.T) {
	t.Parallel()
	for backend, kind := range map[ir.BackendKind]Kind{
		ir.KindService: Service, ir.KindXBackend: XBackend, ir.KindBackend: Backend, ir.KindInferencePool: InferencePool,
		ir.KindServiceImport: ServiceImport,
	} {
		if backend.String() != string(kind) {
			t.Errorf("the kind of a backend is %s, that of its object %s", backend, kind)
		}
	}
}
