package route

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// harmless are the filters without which a request may be served by another rule.
var harmless = []gwv1.HTTPRouteFilterType{
	gwv1.HTTPRouteFilterRequestHeaderModifier, gwv1.HTTPRouteFilterResponseHeaderModifier, gwv1.HTTPRouteFilterRequestRedirect,
	gwv1.HTTPRouteFilterURLRewrite, gwv1.HTTPRouteFilterRequestMirror, gwv1.HTTPRouteFilterCORS,
}

// guards says whether a filter may refuse requests: an authorization, or one that is not known here.
func guards(filters []gwv1.HTTPRouteFilter) bool {
	return slices.ContainsFunc(filters, func(f gwv1.HTTPRouteFilter) bool { return !slices.Contains(harmless, f.Type) })
}

const (
	// anyValue matches every value of a header, a query parameter or a path.
	anyValue = anyLines + ".*"
	// anyLines has the dot stand for every character.
	anyLines = "(?s)"
	// longestBeginning bounds how much of an expression is kept.
	longestBeginning = 512
)

// always is a condition on a header that every request meets.
var always = ir.NamedMatch{Name: ":method", StringMatch: ir.StringMatch{Kind: ir.Regex, Value: anyValue}}

// meant is a match for all that a match which cannot be read may mean, in a place no later than its own: all conditions that can be read
// stay, and of the others a header or parameter has to be there, or a path has to begin as its expression does. It is false for a path
// that no request can have, and for one of a type that is not known.
func (e *expressions) meant(m requestMatch) (placedMatch, bool) {
	if m.anyPath {
		return placedMatch{}, false
	}
	wide := m.Match
	wide.Path = e.meantPath(m.Path, m.segments)
	wide.Headers, wide.Query = nil, nil
	for _, h := range m.Headers {
		if header.CheckName("", h.Name) != "" {
			h = always
		}
		wide.Headers = append(wide.Headers, e.orAny(h))
	}
	for _, q := range m.Query {
		if q.Name == "" || !utf8.ValidString(q.Name) {
			wide.Headers = append(wide.Headers, always)
			continue
		}
		wide.Query = append(wide.Query, e.orAny(q))
	}
	if m.Cookies != nil {
		wide.Cookies = &ir.CookieMatches{}
		for _, c := range m.Cookies.List {
			wide.Cookies.List = append(wide.Cookies.List, e.orAny(c))
		}
	}
	// What took the place of expressions beyond the limit of the route is small.
	fresh := expressions{expression.Budget{Limits: e.Limits}}
	readable := checkPathMatch(wide.Path) == "" && fresh.checkPath(wide.Path) == ""
	place := rankOf(wide)
	if escaped, ok := anyCaseOfSlashes(wide.Path); ok && e.Take(escaped.Value) == nil {
		wide.Path = escaped
	}
	return placedMatch{wide, place}, readable
}

// anyCaseOfSlashes takes both cases of hex digits in the escaped slashes and backslashes of a path, which backends decode alike. It is
// false for a path without them.
func anyCaseOfSlashes(m ir.StringMatch) (ir.StringMatch, bool) {
	quoted := regexp.QuoteMeta(m.Value)
	value := ir.AnyCaseOfSlashes(quoted)
	if m.Kind == ir.Regex || value == quoted {
		return m, false
	}
	if m.Kind == ir.Prefix {
		value += "(?:/.*)?"
	}
	return ir.StringMatch{Kind: ir.Regex, Value: anyLines + value}, true
}

func (e *expressions) orAny(m ir.NamedMatch) ir.NamedMatch {
	if m.Kind == ir.Regex && (m.Value == "" || e.Take(m.Value) != nil) || !utf8.ValidString(m.Value) {
		m.Kind, m.Value = ir.Regex, anyValue
	}
	return m
}

func (e *expressions) meantPath(m ir.StringMatch, segments []string) ir.StringMatch {
	if m.Kind != ir.Regex || e.Take(m.Value) == nil {
		return m
	}
	wide := beginsAs(m.Value, longestBeginning)
	if len(segments) > 0 {
		wide = e.meantSegments(segments)
	}
	// The length of an expression counts for its place.
	missing := min(len(m.Value), expression.MaxLength-len(anyLines)) - len(wide)
	m.Value = strings.Repeat(anyLines, max(1, (missing+len(anyLines)-1)/len(anyLines))) + wide
	return m
}

// meantSegments keeps the segments that can be read, unless they are too large together.
func (e *expressions) meantSegments(segments []string) string {
	wide := make([]string, len(segments))
	kept := make([]string, len(segments))
	for i, s := range segments {
		wide[i] = "/" + beginsAs(s, longestBeginning)
		kept[i] = wide[i]
		if e.Take(s) == nil {
			kept[i] = "/(?:" + s + ")"
		}
	}
	if fresh := (expressions{expression.Budget{Limits: e.Limits}}); fresh.Take(strings.Join(kept, "")) != nil {
		return strings.Join(wide, "")
	}
	return strings.Join(kept, "")
}

// beginsAs is an expression for what begins as every text that an expression could match, of which it keeps so many characters.
func beginsAs(expression string, longest int) string {
	literal := ir.LiteralBeginning(expression)
	return regexp.QuoteMeta(literal[:min(len(literal), longest)]) + ".*"
}
