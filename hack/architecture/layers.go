package main

import (
	"fmt"
	"slices"
	"strings"
)

// A layer is a set of packages that may import each other and everything in the layers below.
type layer struct {
	name string
	// packages are paths below the module, or beginnings of paths that end in a slash.
	packages []string
}

// layers are listed from the top to the bottom. A package must not import one of a higher layer.
var layers = []layer{
	{"wiring", []string{"cmd/", "internal/app"}},
	{"status", []string{"internal/programmed", "internal/peers", "internal/status"}},
	{"pipeline", []string{"internal/pipeline", "internal/quarantine", "internal/sharedfleet"}},
	{
		"delivery",
		[]string{
			"internal/files", "internal/dataplane", "internal/identity", "internal/convergence", "internal/ratelimit",
			"internal/xds", "internal/xds/",
		},
	},
	{
		"infrastructure",
		[]string{
			"internal/infra/", "internal/infra", "internal/files/layout", "internal/leaderqueue", "internal/pki", "internal/drain",
			"internal/geoip",
		},
	},
	{"translation", []string{"internal/translate/", "internal/endpoints", "internal/explain"}},
	{"resolution", []string{"internal/resolve/"}},
	{"objects", []string{"internal/watch", "internal/memo", "internal/store", "internal/manifests"}},
	{"values", []string{"internal/ir", "internal/outcome", "internal/limits", "internal/version", "api/"}},
}

// layerOf returns the index in layers of a package.
func layerOf(path string) (int, bool) {
	for i, l := range layers {
		for _, p := range l.packages {
			if path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
				return i, true
			}
		}
	}
	return 0, false
}

// checkLayers returns a message for each package without a layer, and for each import of a higher layer.
func checkLayers(imports map[string][]string) []string {
	var problems []string
	for _, from := range sortedKeys(imports) {
		layer, ok := layerOf(from)
		if !ok {
			problems = append(problems, fmt.Sprintf("%s is in no layer: add it to hack/architecture/layers.go", from))
			continue
		}
		for _, to := range imports[from] {
			if above, ok := layerOf(to); ok && above < layer {
				problems = append(problems,
					fmt.Sprintf("%s (%s) imports %s (%s), which is a higher layer", from, layers[layer].name, to, layers[above].name))
			}
		}
	}
	return problems
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
