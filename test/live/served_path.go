package live

import (
	"net/url"
	pathpkg "path"
	"strings"
)

// ServedPath is the path that a lenient server takes a URI for: it decodes it, takes backslashes for slashes, and resolves dot segments.
func ServedPath(uri string) string { return pathpkg.Clean("/" + decodedPath(uri)) }

// ServedPathWithoutParameters is [ServedPath] of a server that cuts off what ends a path, and the parameters of segments and spaces behind
// them.
func ServedPathWithoutParameters(uri string) string {
	decoded := decodedPath(uri)
	if end := strings.IndexAny(decoded, "?#\x00"); end >= 0 {
		decoded = decoded[:end]
	}
	segments := strings.Split(decoded, "/")
	for i, segment := range segments {
		segment, _, _ = strings.Cut(segment, ";")
		segments[i] = strings.TrimRight(segment, " ")
	}
	return pathpkg.Clean("/" + strings.Join(segments, "/"))
}

func decodedPath(uri string) string {
	written, _, _ := strings.Cut(uri, "?")
	decoded, err := url.PathUnescape(written)
	if err != nil {
		decoded = written
	}
	return strings.ReplaceAll(decoded, "\\", "/")
}
