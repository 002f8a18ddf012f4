package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// checkMatch says what is wrong with a match that Envoy would refuse, and with it every other rule of the table. Definitions check most of
// it, but not those of every version.
func checkMatch(m requestMatch, e *expressions) string {
	if m.unknown != "" {
		return m.unknown
	}
	if message := cmp.Or(m.ambiguous, checkPathMatch(m.Path)); message != "" {
		return message
	}
	for _, h := range m.Headers {
		if message := header.CheckName("match on header", h.Name); message != "" {
			return message
		}
	}
	for _, q := range m.Query {
		if q.Name == "" {
			return "a match on a query parameter has no name; add one"
		}
	}
	for _, c := range m.Cookies.All() {
		if message := header.CheckName("match on cookie", c.Name); message != "" {
			return message
		}
	}
	for _, n := range slices.Concat(m.Headers, m.Query) {
		if !utf8.ValidString(n.Value) {
			return fmt.Sprintf("match on %s: the value is not UTF-8, so that no request can have it; correct it", n.Name)
		}
	}
	return e.check(m.Match)
}

func checkPathMatch(m ir.StringMatch) string {
	switch {
	case m.Kind == ir.Regex:
		return ""
	case !strings.HasPrefix(m.Value, "/") || strings.ContainsAny(m.Value, "?#"):
		return fmt.Sprintf("path %q is not a path: it begins with / and holds no ? or #", m.Value)
	default:
		return checkPath("path", m.Value)
	}
}
