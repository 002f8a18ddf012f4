package header_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/header"
)

func TestCheckValue(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "a", "a\tb", "ü", "100%"} {
		if message := header.CheckValue("the value", good); message != "" {
			t.Errorf("%q: %s", good, message)
		}
	}
	for _, bad := range []string{"a\nb", "a\x00", "\x7f", "\xff\xfe"} {
		if header.CheckValue("the value", bad) == "" {
			t.Errorf("%q is allowed", bad)
		}
	}
}
