package route

import (
	"fmt"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// readings is the match with the path that requests have by the time rules are compared with them. There are several if that depends on
// what a listener does with slashes. Then none is served: to take one for another would serve requests that are not meant.
func (m requestMatch) readings() []requestMatch {
	if m.anyPath || m.Path.Kind == ir.Regex || checkPathMatch(m.Path) != "" {
		return []requestMatch{m}
	}
	written := m.Path.Value
	paths := ir.PathSpellings(written)
	list := make([]requestMatch, 0, len(paths))
	for _, path := range paths {
		own := m
		own.Path.Value = path
		switch {
		case own.Path.Kind != ir.Prefix || path == "/":
		case len(paths) > 1 && strings.Trim(path, "/") == "":
			// Without its trailing slashes it would be a prefix of every path. Where slashes are merged, `//` alone is left of such paths.
			own.Path = ir.StringMatch{Kind: ir.Regex, Value: anyLines + path + ".*"}
		default:
			// The standard: a trailing slash does not matter to a prefix.
			own.Path.Value = strings.TrimSuffix(path, "/")
		}
		if len(paths) > 1 {
			own.ambiguous = fmt.Sprintf("path %q has an escaped slash or backslash, or two slashes, which listeners make %s of; write the plain "+
				"path, or use RegularExpression", written, strings.Join(paths, " or "))
		}
		list = append(list, own)
	}
	return list
}
