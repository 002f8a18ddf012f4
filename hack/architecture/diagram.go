package main

import (
	"fmt"
	"slices"
	"strings"
)

// diagram draws the packages as a Mermaid flowchart, one box for each layer, from the top to the bottom. An import that follows from others
// is not drawn.
func diagram(imports map[string][]string) string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for i, l := range layers {
		fmt.Fprintf(&b, "  subgraph layer_%s [%s]\n", l.name, l.name)
		for _, name := range sortedKeys(imports) {
			if at, ok := layerOf(name); ok && at == i {
				fmt.Fprintf(&b, "    %s[%s]\n", id(name), label(name))
			}
		}
		b.WriteString("  end\n")
	}
	for _, from := range sortedKeys(imports) {
		for _, to := range imports[from] {
			if !reachedThroughAnother(imports, from, to) {
				fmt.Fprintf(&b, "  %s --> %s\n", id(from), id(to))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

func label(name string) string { return strings.TrimPrefix(name, "internal/") }

func id(name string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(label(name)) }

// reachedThroughAnother reports whether one of the other imports of a package leads to the same one.
func reachedThroughAnother(imports map[string][]string, from, to string) bool {
	return slices.ContainsFunc(imports[from], func(other string) bool { return other != to && reaches(imports, other, to) })
}

func reaches(imports map[string][]string, from, to string) bool {
	return from == to || slices.ContainsFunc(imports[from], func(next string) bool { return reaches(imports, next, to) })
}
