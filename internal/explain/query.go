package explain

import "strings"

// cutQuery separates a path from its query, which begins with a question mark.
func cutQuery(path string) (before, query string) {
	if i := strings.IndexByte(path, '?'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}
