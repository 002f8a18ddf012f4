package route

import (
	"fmt"
	"regexp"

	"github.com/gatewright/gatewright/internal/ir"
)

// checkRegexes compiles every expression of a match: Go's syntax is the one Envoy's RE2 has.
func checkRegexes(m ir.Match) string {
	if m.Path.Kind == ir.Regex {
		if _, err := regexp.Compile(m.Path.Value); err != nil {
			return fmt.Sprintf("path %q: %v", m.Path.Value, err)
		}
	}
	for _, list := range [][]ir.NamedMatch{m.Headers, m.Query} {
		for _, n := range list {
			if n.Kind != ir.Regex {
				continue
			}
			if _, err := regexp.Compile(n.Value); err != nil {
				return fmt.Sprintf("match on %s %q: %v", n.Name, n.Value, err)
			}
		}
	}
	return ""
}
