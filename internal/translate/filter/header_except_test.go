package filter

import (
	"regexp"
	"testing"
)

func TestHeaderExcept(t *testing.T) {
	t.Parallel()
	expression := regexp.MustCompile("^(?:" + headerExcept(notCopied) + ")$")
	for _, name := range append([]string{":status", ":path"}, notCopied...) {
		if expression.MatchString(name) {
			t.Errorf("%s is taken", name)
		}
	}
	for _, name := range []string{
		"x-user", "h", "hos", "hosts", "hostile", "content-lengths", "content-type", "t", "tea", "trail",
		"transfer-encodings", "connection-x", "x",
	} {
		if !expression.MatchString(name) {
			t.Errorf("%s is not taken", name)
		}
	}
}
