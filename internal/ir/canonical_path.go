package ir

import (
	"slices"
	"strings"
)

// CanonicalPath is what Envoy's normalize_path makes of a path without its query, which is what Chromium's URL library does: dot segments
// are resolved, backslashes are slashes, letters, digits and `-._~` are not escaped, and what must not be in a path is. It is false for a
// path that cannot be served.
func CanonicalPath(path string) (string, bool) {
	var out []byte
	if path == "" || path[0] != '/' && path[0] != '\\' {
		out = append(out, '/')
	}
	ok := true
	for i := 0; i < len(path); i++ {
		c := path[i]
		if dot := dotAt(path, i); dot > 0 {
			var next int
			out, next = appendDot(out, path, i+dot)
			i = next - 1
			continue
		}
		switch {
		case c == '\\':
			out = append(out, '/')
		case c == '%':
			decoded, valid := escapeAt(path, i)
			switch {
			case !valid:
				out = append(out, '%')
			case isUnreserved(decoded):
				out = append(out, decoded)
				i += 2
			default:
				out = append(out, path[i:i+3]...)
				i += 2
				ok = ok && decoded != 0
			}
		case c == 0:
			return "", false
		case mustEscape(c):
			out = append(out, '%', upperHex[c>>4], upperHex[c&0xf])
		default:
			out = append(out, c)
		}
	}
	return string(out), ok
}

const upperHex = "0123456789ABCDEF"

// dotAt is the length of the dot at a place, escaped or not, 0 for anything else.
func dotAt(path string, i int) int {
	switch {
	case i < len(path) && path[i] == '.':
		return 1
	case i+2 < len(path) && strings.EqualFold(path[i:i+3], "%2e"):
		return 3
	default:
		return 0
	}
}

// appendDot continues behind a dot, which ends at a place, and returns the place behind all that it means.
func appendDot(out []byte, path string, end int) (longer []byte, next int) {
	if len(out) == 0 || out[len(out)-1] != '/' {
		return append(out, '.'), end
	}
	if next, ok := segmentEnd(path, end); ok {
		return out, next
	}
	if second := dotAt(path, end); second > 0 {
		if next, ok := segmentEnd(path, end+second); ok {
			return parent(out), next
		}
	}
	return append(out, '.'), end
}

// segmentEnd is the place behind the slash, or the end of the path, that stands at a place.
func segmentEnd(path string, i int) (int, bool) {
	switch {
	case i >= len(path):
		return i, true
	case path[i] == '/' || path[i] == '\\':
		return i + 1, true
	default:
		return 0, false
	}
}

// parent is a path that ends with a slash without its last segment.
func parent(out []byte) []byte {
	i := len(out) - 1
	if i == 0 {
		return out
	}
	for i--; i > 0 && out[i] != '/'; i-- {
	}
	return out[:i+1]
}

func escapeAt(path string, i int) (byte, bool) {
	if i+2 >= len(path) {
		return 0, false
	}
	high, low := hexValue(path[i+1]), hexValue(path[i+2])
	if high < 0 || low < 0 {
		return 0, false
	}
	return byte(high<<4 | low), true //nolint:gosec // both are below 16
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}

func isUnreserved(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '.' || c == '_' || c == '~'
}

func mustEscape(c byte) bool {
	return c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>?^`{|}", c) >= 0
}

// MergeSlashes makes one slash of several, as Envoy does: a path of nothing but slashes keeps two.
func MergeSlashes(path string) string {
	if !strings.Contains(path, "//") {
		return path
	}
	var segments []string
	for segment := range strings.SplitSeq(path, "/") {
		if segment != "" {
			segments = append(segments, segment)
		}
	}
	merged := strings.Join(segments, "/")
	if strings.HasPrefix(path, "/") {
		merged = "/" + merged
	}
	if strings.HasSuffix(path, "/") {
		merged += "/"
	}
	return merged
}

// UnescapeSlashes has plain slashes and backslashes in place of escaped ones.
func UnescapeSlashes(path string) string { return escapedSlash.Replace(path) }

var escapedSlash = strings.NewReplacer("%2F", "/", "%2f", "/", "%5C", `\`, "%5c", `\`)

// AnyCaseOfSlashes has an expression that takes both cases of hex digits in place of escaped slashes and backslashes of quoted text.
func AnyCaseOfSlashes(quoted string) string { return escapedSlashCase.Replace(quoted) }

var escapedSlashCase = strings.NewReplacer("%2F", "%2[Ff]", "%2f", "%2[Ff]", "%5C", "%5[Cc]", "%5c", "%5[Cc]")

// PathSpellings are the paths that listeners may make of a path, sorted: with and without its escaped slashes, and its repeated ones. There
// is one but for a path with such slashes. A path that proxies answer 400 to keeps no request from others.
func PathSpellings(written string) []string {
	var paths []string
	for _, path := range []string{written, UnescapeSlashes(written)} {
		path, _ = CanonicalPath(path)
		paths = append(paths, path, MergeSlashes(path))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
