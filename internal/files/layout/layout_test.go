package layout

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryFileHasAPlace(t *testing.T) {
	t.Parallel()
	all := Objects("edge")
	seen := map[string]bool{}
	for _, object := range all {
		if seen[object.Name] {
			t.Errorf("%s is there twice", object.Name)
		}
		seen[object.Name] = true
	}
	for _, file := range []string{
		Listeners, Clusters, Loaded,
		FileName(RouteTables, "a/b/80"), FileName(Endpoints, "a/b/80"), FileName(Secrets, "a/b"), FileName(Secrets, strings.Repeat("long/", 100)),
	} {
		object := ObjectOf("edge", file)
		if !slices.Contains(all, object) {
			t.Errorf("%s is in %s, which no proxy mounts", file, object.Name)
		}
		if object.Secret != strings.HasPrefix(file, string(Secrets)) {
			t.Errorf("%s is in %+v", file, object)
		}
	}
	if FileName(RouteTables, "a/b") == FileName(RouteTables, "a_b") {
		t.Error("two resources share a file")
	}
}
