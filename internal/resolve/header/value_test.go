package header_test

import (
	"strings"
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

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "x-user", "X_1", strings.Repeat("a", 256)} {
		if message := header.CheckName("header", good); message != "" {
			t.Errorf("%q: %s", good, message)
		}
	}
	for _, bad := range []string{"", "a b", "a:", "ü"} {
		if header.CheckName("header", bad) == "" {
			t.Errorf("%q is allowed", bad)
		}
	}
	const want = `header "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" has 257 bytes; a name may have 256`
	if got := header.CheckName("header", strings.Repeat("a", 257)); got != want {
		t.Errorf("a long name: %s", got)
	}
}
