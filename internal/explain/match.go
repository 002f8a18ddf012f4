package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// matches compares a value.
func matches(m ir.StringMatch, value string) bool {
	switch m.Kind {
	case ir.Prefix:
		return strings.HasPrefix(value, m.Value)
	case ir.Suffix:
		return strings.HasSuffix(value, m.Value)
	case ir.Regex:
		return fullMatch(m.Value, value)
	default:
		return value == m.Value
	}
}

// fullMatch compares a whole value with an RE2 expression. One that cannot be read matches nothing.
func fullMatch(expression, value string) bool {
	re, err := regexp.Compile(`\A(?:` + expression + `)\z`)
	return err == nil && re.MatchString(value)
}

// The parts of a match.
const (
	partPath   = "path"
	partMethod = "method"
	partHeader = "header"
	partQuery  = "query"
	partCookie = "cookie"
)

// misses are the parts of a match that do not fit the request; none if it matches.
func (x *exchange) misses(m *ir.Match) []Miss {
	var all []Miss
	path, _ := cutQuery(x.path)
	if !pathMatches(m.Path, path) {
		all = append(all, Miss{Part: partPath, Want: describePath(m.Path), Got: path})
	}
	if m.Method != "" && m.Method != x.request.Method {
		all = append(all, Miss{Part: partMethod, Want: m.Method, Got: x.request.Method})
	}
	for _, header := range m.Headers {
		values := x.headers.values(header.Name)
		if !slices.ContainsFunc(values, func(value string) bool { return matches(header.StringMatch, value) }) {
			all = append(all, Miss{
				Part: partHeader, Name: header.Name, Want: describeMatch(header.StringMatch), Got: strings.Join(values, ","),
			})
		}
	}
	for _, parameter := range m.Query {
		if value, ok := queryParameter(x.path, parameter.Name); !ok || !matches(parameter.StringMatch, value) {
			all = append(all, Miss{Part: partQuery, Name: parameter.Name, Want: describeMatch(parameter.StringMatch), Got: value})
		}
	}
	for _, cookie := range m.Cookies.All() {
		if value, ok := x.headers.cookie(cookie.Name); !ok || !matches(cookie.StringMatch, value) {
			all = append(all, Miss{Part: partCookie, Name: cookie.Name, Want: describeMatch(cookie.StringMatch), Got: value})
		}
	}
	return all
}

// pathMatches compares a path without its query. No value matches every path, and a prefix consists of whole segments.
func pathMatches(m ir.StringMatch, path string) bool {
	switch {
	case m.Value == "":
		return true
	case m.Kind == ir.Exact:
		return path == m.Value
	case m.Kind == ir.Regex:
		return fullMatch(m.Value, path)
	}
	prefix := strings.TrimRight(m.Value, "/")
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

func describeMatch(m ir.StringMatch) string {
	if m.Kind == ir.Exact {
		return fmt.Sprintf("%q", m.Value)
	}
	return fmt.Sprintf("%s %q", m.Kind, m.Value)
}

func describePath(m ir.StringMatch) string {
	if m.Value == "" {
		return "any path"
	}
	return fmt.Sprintf("%s %s", m.Kind, m.Value)
}

// describe is a match in words.
func describe(m *ir.Match) string {
	parts := []string{describePath(m.Path)}
	if m.Method != "" {
		parts = append(parts, "method "+m.Method)
	}
	for _, h := range m.Headers {
		parts = append(parts, "header "+h.Name+" "+describeMatch(h.StringMatch))
	}
	for _, q := range m.Query {
		parts = append(parts, "query "+q.Name+" "+describeMatch(q.StringMatch))
	}
	for _, c := range m.Cookies.All() {
		parts = append(parts, "cookie "+c.Name+" "+describeMatch(c.StringMatch))
	}
	return strings.Join(parts, ", ")
}
