package xds_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/xds"
)

// TestOneTextForEachGroup: replicas exchange the texts of groups, and one that no group has must not stand for another.
func TestOneTextForEachGroup(t *testing.T) {
	t.Parallel()
	for want, id := range map[string]xds.GroupID{
		"shop/web": {Namespace: "shop", Name: "web"},
		"/shared":  {Name: "shared"},
		"":         {},
	} {
		if got := id.String(); got != want {
			t.Errorf("%+v has the text %q, want %q", id, got, want)
		}
		if got, ok := xds.ParseGroupID(want); !ok || got != id {
			t.Errorf("%q is parsed as %+v, %t, want %+v", want, got, ok, id)
		}
	}
	for _, text := range []string{"web", "/", "shop/", "shop/web/80", "/shared/80", "//"} {
		if id, ok := xds.ParseGroupID(text); ok || !id.IsZero() {
			t.Errorf("%q is parsed as %q", text, id)
		}
	}
}

func FuzzParseGroupID(f *testing.F) {
	for _, text := range []string{"shop/web", "/shared", "", "web", "/", "a//b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, ok := xds.ParseGroupID(text); ok && id.String() != text {
			t.Errorf("%q is parsed as %q", text, id)
		}
	})
}
