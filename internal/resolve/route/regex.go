package route

import (
	"fmt"
	"regexp/syntax"

	"github.com/gatewright/gatewright/internal/ir"
)

// maxRegexSize is the most instructions an expression may compile to. Proxies take twenty times as many, because Envoy counts bytes
// where Go counts characters.
const maxRegexSize = 5_000

// checkRegexes compiles every expression of a match: Go's syntax is the one Envoy's RE2 has.
func checkRegexes(m ir.Match) string {
	if m.Path.Kind == ir.Regex {
		if err := checkRegex(m.Path.Value); err != nil {
			return fmt.Sprintf("path %q: %v", m.Path.Value, err)
		}
	}
	for _, list := range [][]ir.NamedMatch{m.Headers, m.Query} {
		for _, n := range list {
			if n.Kind != ir.Regex {
				continue
			}
			if err := checkRegex(n.Value); err != nil {
				return fmt.Sprintf("match on %s %q: %v", n.Name, n.Value, err)
			}
		}
	}
	return ""
}

func checkRegex(expression string) error {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	if len(program.Inst) > maxRegexSize {
		return fmt.Errorf("the expression is too large: it compiles to %d instructions, and %d are allowed", len(program.Inst), maxRegexSize)
	}
	return nil
}
