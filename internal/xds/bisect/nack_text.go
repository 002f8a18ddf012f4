package bisect

import (
	"slices"
	"strings"
)

// Named returns the resources that the text of a NACK names, sorted; sent reports whether the response had a resource of a name.
// Envoy applies clusters and listeners one by one, and names each that it rejects. A NACK of another type rejects the whole response.
func Named(reason string, sent func(name string) bool) []string {
	named := slices.DeleteFunc(mentions(reason), func(name string) bool { return !sent(name) })
	slices.Sort(named)
	return slices.Compact(named)
}

// ReasonOf returns what the text of a NACK says about one resource, or all of it if it does not name the resource.
func ReasonOf(name, reason string) string {
	i := mention(name, reason)
	if i < 0 {
		return strings.TrimSpace(reason)
	}
	own, _, _ := strings.Cut(reason[i+len(name+": "):], "\n")
	return strings.TrimSpace(own)
}

// mentions returns the texts that are where a NACK has the name of a resource; see mention.
func mentions(reason string) []string {
	var names []string
	for line := range strings.Lines(reason) {
		for _, separator := range []string{", ", "(s) "} {
			line = strings.ReplaceAll(line, separator, "\n")
		}
		for part := range strings.Lines(line) {
			if name, _, found := strings.Cut(part, ": "); found {
				names = append(names, name)
			}
		}
	}
	return names
}

// mention returns the index at which a NACK names a resource, -1 if it does not. Each name begins a line or follows a comma; the first one
// follows "Error adding/updating cluster(s)". A name elsewhere is part of another name, or of a value that a user wrote.
func mention(name, reason string) int {
	for from := 0; ; {
		i := strings.Index(reason[from:], name+": ")
		if i < 0 {
			return -1
		}
		i += from
		before := reason[:i]
		if before == "" || strings.HasSuffix(before, "\n") || strings.HasSuffix(before, ", ") || strings.HasSuffix(before, "(s) ") {
			return i
		}
		from = i + 1
	}
}
