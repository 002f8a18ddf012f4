package route

import (
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// maxShadows is how many matches of a host are reported. It bounds how many statuses one route can change by coming or going.
const maxShadows = 64

// matchKey is a path and what else a request must have, as text.
type matchKey struct {
	path ir.StringMatch
	rest string
}

// shadows finds matches, in order of precedence, that get no request because one before them takes all: the same match, or a prefix that
// covers the path and asks for nothing else. It finds what can be proved from the text, at a cost that grows with the rules alone.
func shadows(rules []ir.Rule) []ir.Shadow {
	if len(rules) < 2 {
		return nil
	}
	var found []ir.Shadow
	first := make(map[matchKey]int, len(rules))
	for i, rule := range rules {
		// A rule for preflights is not the user's: to lose to one is no mistake.
		if rule.Match.Preflight {
			continue
		}
		own := keyOf(rule.Match)
		by, same := first[own]
		ok := same
		if !same {
			by, ok = covering(first, own)
			first[own] = i
		}
		if ok {
			found = append(found, ir.Shadow{Rule: rule.Name, By: rules[by].Name, Same: same, Regex: !same && own.path.Kind == ir.Regex})
			if len(found) == maxShadows {
				return found
			}
		}
	}
	return found
}

// covering finds a prefix before that takes all requests of a match.
func covering(first map[matchKey]int, own matchKey) (int, bool) {
	for _, prefix := range prefixesOf(own.path) {
		for _, rest := range [...]string{"", own.rest} {
			by, ok := first[matchKey{ir.StringMatch{Kind: ir.Prefix, Value: prefix}, rest}]
			if ok {
				return by, true
			}
		}
	}
	return 0, false
}

// prefixesOf are the prefixes that every path which matches begins with, as whole segments; the empty one is for every path.
func prefixesOf(m ir.StringMatch) []string {
	path := m.Value
	prefixes := []string{""}
	switch m.Kind {
	case ir.Regex:
		// What follows the last slash may go on.
		path = literal(m.Value)
		path = path[:strings.LastIndex(path, "/")+1]
	case ir.Prefix, ir.Exact:
		path = strings.TrimSuffix(path, "/") + "/"
	case ir.Suffix:
		path = ""
	}
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			prefixes = append(prefixes, path[:i])
		}
	}
	return prefixes
}

// literal is a text that everything which matches an expression begins with, perhaps not all of it.
func literal(expression string) string {
	depth := 0
	for i := range len(expression) {
		switch expression[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 || strings.ContainsAny(expression, `[\`) {
				return ""
			}
		}
	}
	expression = strings.TrimPrefix(expression, "^")
	end := strings.IndexAny(expression, `\.+*?()|[]{}^$`)
	switch {
	case end < 0:
		return expression
	case end > 0 && strings.IndexByte("*?{", expression[end]) >= 0:
		end--
	}
	return expression[:end]
}

func keyOf(m ir.Match) matchKey {
	c := matchKey{path: m.Path}
	if m.Path.Kind == ir.Prefix {
		c.path.Value = strings.TrimSuffix(m.Path.Value, "/")
	}
	if m.Method == "" && len(m.Headers) == 0 && len(m.Query) == 0 && m.Cookies == nil {
		return c
	}
	var text strings.Builder
	for _, part := range []string{m.Method, named(m.Headers), named(m.Query), named(m.Cookies.All())} {
		text.WriteByte('\n')
		text.WriteString(part)
	}
	c.rest = text.String()
	return c
}

// named is the same text for the same conditions in whatever order.
func named(list []ir.NamedMatch) string {
	texts := make([]string, 0, len(list))
	for _, m := range list {
		texts = append(texts, m.Name+"\x00"+m.Kind.String()+"\x00"+m.Value)
	}
	slices.Sort(texts)
	return strings.Join(texts, "\x01")
}
