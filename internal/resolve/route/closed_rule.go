package route

import (
	"unicode/utf8"

	"github.com/gatewright/gatewright/internal/ir"
)

// longestClosed bounds what a closed rule keeps of an expression.
const longestClosed = 64

// closed is a rule that answers an error and costs little. It stays in its place, and takes at least the requests that it took: of regular
// expressions and of long values only the beginning is left, which is cheap to keep and to compare.
func (r Rule) closed() Rule {
	kind, _, _ := ObjectOf(r.Name)
	match := r.Match
	if match.Path.Kind == ir.Regex {
		match.Path.Value = anyLines + beginsAs(match.Path.Value, longestClosed)
	}
	match.Headers, match.Query = shortened(match.Headers), shortened(match.Query)
	if match.Cookies != nil {
		match.Cookies = &ir.CookieMatches{List: shortened(match.Cookies.List)}
	}
	closed := failing(string(kind)).rule(r.Name, match)
	closed.Rest = r.Rest
	return closed.at(r.rank)
}

// shortened has every value meet the conditions that are regular expressions, and compares only the beginning or end of long values.
func shortened(list []ir.NamedMatch) []ir.NamedMatch {
	var short []ir.NamedMatch
	for _, m := range list {
		switch long := len(m.Value) > longestClosed; {
		case m.Kind == ir.Regex:
			m.Value = anyValue
		case long && m.Kind == ir.Suffix:
			start := len(m.Value) - longestClosed
			for !utf8.RuneStart(m.Value[start]) {
				start++
			}
			m.Value = m.Value[start:]
		case long:
			end := longestClosed
			for !utf8.RuneStart(m.Value[end]) {
				end--
			}
			m.Kind, m.Value = ir.Prefix, m.Value[:end]
		}
		short = append(short, m)
	}
	return short
}

// cheaply is the route with every rule closed, and every connection.
func (r Resolved) cheaply() Resolved {
	rules := make([]Rule, 0, len(r.Rules))
	for _, rule := range r.Rules {
		rules = append(rules, rule.closed())
	}
	r.Rules, r.Backends, r.Expressions, r.Instead = rules, nil, 0, nil
	if r.Stream != nil {
		r.Stream, r.Destination = &ir.Stream{Route: r.Stream.Route}, nil
	}
	return r
}
