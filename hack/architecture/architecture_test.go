package main

import (
	"slices"
	"strings"
	"testing"
)

func TestDocumentIsUpToDate(t *testing.T) {
	t.Parallel()
	before, after, err := update("../..")
	if err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("the package diagram in %s is not up to date: run make generate", documentPath)
	}
}

func TestImportOfAHigherLayer(t *testing.T) {
	t.Parallel()
	got := checkLayers(map[string][]string{
		"internal/store":         {"internal/limits", "internal/xds"},
		"internal/resolve/route": {"internal/resolve/refs", "internal/store"},
		"internal/elsewhere":     nil,
	})
	want := []string{
		"internal/elsewhere is in no layer: add it to hack/architecture/layers.go",
		"internal/store (objects) imports internal/xds (delivery), which is a higher layer",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDiagramLeavesOutWhatFollows(t *testing.T) {
	t.Parallel()
	got := diagram(map[string][]string{
		"internal/app":   {"internal/ir", "internal/store"},
		"internal/store": {"internal/ir"},
		"internal/ir":    nil,
	})
	if strings.Contains(got, "app --> ir") || !strings.Contains(got, "  app --> store\n  store --> ir\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestWalks(t *testing.T) {
	t.Parallel()
	functions := map[string]map[string]bool{"internal/xds": {"Cache.Apply": true}, "internal/resolve/route": {"HTTP": true}}
	document := "# A\n\n## Three walks through the code\n\n### One\n\n`xds.Cache.Apply`, `resolve/route.HTTP`, `xds.Cache.Gone`, " +
		"`pipeline.go`\n\n" +
		"### Two\n" + strings.Repeat(
		"line\n",
		60,
	) + "\n## More\n\n`xds.NotHere`\n"
	got := checkWalks(document, functions)
	want := []string{
		"the walks name xds.Cache.Gone, which does not exist",
		`the walk "Two" has 61 lines, more than a page of 50`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
