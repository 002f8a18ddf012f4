package ir_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestCanonicalPath has what a live Envoy made of each path.
func TestCanonicalPath(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, want string }{
		{"/", "/"},
		{"/a/./b", "/a/b"},
		{"/a/../b", "/b"},
		{"/../a", "/a"},
		{"/a/..", "/"},
		{"/a/.", "/a/"},
		{"/a/%2e%2e/b", "/b"},
		{"/a/.%2E/b", "/b"},
		{"/%41%7E", "/A~"},
		{"/a%20b", "/a%20b"},
		{"/%zz", "/%zz"},
		{"/%", "/%"},
		{`/a\b`, "/a/b"},
		{`/a\..\b`, "/b"},
		{"/{}", "/%7B%7D"},
		{"/.../a", "/.../a"},
		{"/..a", "/..a"},
		{"/a//b", "/a//b"},
		{"/a//..", "/a/"},
		{"/;a=b", "/;a=b"},
		{"/[]", "/[]"},
	} {
		if got, ok := ir.CanonicalPath(test.path); got != test.want || !ok {
			t.Errorf("%s becomes %s, %t, want %s", test.path, got, ok, test.want)
		}
	}
	if _, ok := ir.CanonicalPath("/a%00"); ok {
		t.Error("an escaped NUL is accepted")
	}
}

func TestMergeSlashes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/a//b": "/a/b", "//a": "/a", "/a//": "/a/", "//": "//", "///": "//", "/a": "/a"} {
		if got := ir.MergeSlashes(path); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}
