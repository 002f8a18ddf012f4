package ir_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestOneTextForEachIdentity: proxies send names, and those that nothing is called by must not stand for something.
func TestOneTextForEachIdentity(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a/b/+80", "a/b/080", "a/b/-1", "a/b/80~", "a/b/80/http1"} {
		if b, ok := ir.ParseBackend(text); ok {
			t.Errorf("%q is parsed as %q", text, b)
		}
	}
	for _, text := range []string{"a/b/+80", "a/b/080", "a/b/", "80"} {
		if id := ir.ParseTableID(text); !id.IsZero() {
			t.Errorf("%q is parsed as %q", text, id)
		}
	}
}
