package route

import (
	"fmt"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/expression"
)

// expressions are those of one route.
type expressions struct{ expression.Budget }

// check compiles every expression of a match, in the syntax that Go and Envoy's RE2 have in common.
func (e *expressions) check(m ir.Match) string {
	if message := e.checkPath(m.Path); message != "" {
		return message
	}
	for _, list := range [][]ir.NamedMatch{m.Headers, m.Query, m.Cookies.All()} {
		for _, n := range list {
			if n.Kind != ir.Regex {
				continue
			}
			if n.Value == "" {
				return fmt.Sprintf("match on %s: the expression is empty; write one, such as .*", n.Name)
			}
			if err := e.Take(n.Value); err != nil {
				return fmt.Sprintf("match on %s %q: %v", n.Name, n.Value, err)
			}
		}
	}
	return ""
}

func (e *expressions) checkPath(m ir.StringMatch) string {
	if m.Kind != ir.Regex {
		return ""
	}
	if err := e.Take(m.Value); err != nil {
		return fmt.Sprintf("path %q: %v", m.Value, err)
	}
	return ""
}
