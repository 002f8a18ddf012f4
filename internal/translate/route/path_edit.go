package route

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// variant is one way for a path to match a rule, and what Envoy's prefix_rewrite puts in the place of the part that matched; empty
// leaves the path alone.
type variant struct {
	match       *routev3.RouteMatch
	replacement string
	// port is that of a redirect, where the request's host has one that must not stay; 0 otherwise.
	port uint32
}

// variants are the matches a rule's path needs so that replacing the matched prefix gives what Gateway API's table for
// ReplacePrefixMatch says. It is one, but for a prefix that is taken away: `/foo` and `/foo/` both become `/`, and Envoy, which puts
// strings together and knows no segments, needs to be told so one by one. A regular expression would do both, and would fail for long
// prefixes by Envoy's limit on the size of its program.
func variants(path ir.StringMatch, edit *ir.PathEdit) []variant {
	if edit == nil || edit.Prefix == nil || path.Kind == ir.Regex {
		return []variant{{match: pathMatch(path)}}
	}
	replacement := segments(*edit.Prefix)
	if replacement != "" {
		replacement = rooted(replacement)
	}
	prefix := segments(path.Value)
	switch {
	case path.Kind == ir.Exact:
		return []variant{{match: pathMatch(path), replacement: rooted(replacement)}}
	case prefix == "" && replacement == "":
		return []variant{{match: pathMatch(path)}}
	case prefix == "":
		return []variant{{match: pathMatch(path), replacement: replacement + "/"}}
	case replacement != "":
		return []variant{{match: pathMatch(path), replacement: replacement}}
	default:
		return []variant{
			{match: exactPath(prefix), replacement: "/"},
			{match: plainPrefix(prefix + "/"), replacement: "/"},
		}
	}
}

// fullPath is the path that replaces a request's own, or empty to keep it.
func fullPath(edit *ir.PathEdit) string {
	if edit == nil || edit.Full == nil {
		return ""
	}
	return rooted(*edit.Full)
}

// rooted begins with a slash, as every path does.
func rooted(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "/" + path
}
