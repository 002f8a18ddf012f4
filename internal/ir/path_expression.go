package ir

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// What some servers read in paths.
const (
	// anySlash is a slash, and parameters are what is cut off behind a segment: spaces, and what RFC 3986 has in section 3.3.
	anySlash   = `(?:/|\\|%2[Ff]|%5[Cc])`
	parameters = `(?:%20)*(?:(?:;|%3[Bb])[^/?]*)?`
	// slashes are what is between two segments.
	slashes = `(?:` + parameters + anySlash + `)+`
	// endOfPath is where a path ends that is decoded before its query is cut off.
	endOfPath = `%3[Ff]|%23|%00`
	// query is what may follow a path.
	query = `(?:\?.*)?`
)

// HiddenDots matches paths with a dot segment that a server may resolve. Proxies resolve dot segments before they match paths, but for
// some with parameters, and those beside an escaped slash where a listener keeps these.
const HiddenDots = `[^?]*` + anySlash + `(?:\.|%2[Ee]){1,2}` + parameters + `(?:` + anySlash + `[^?]*)?` + query

// Strict says whether a rule matches the path as it is written alone. What a rule denies, it denies however it is spelled. What is inverted
// is the other way round.
func (p PathRule) Strict(allow bool) bool { return allow != p.Invert }

// Expression matches a path with its query, which the path header has. One that is strict matches the path as it is written; otherwise it
// matches all that a server may take for the path.
func (p PathRule) Expression(strict bool) string {
	switch m := p.StringMatch; {
	case m.Kind == Regex:
		return "(?:" + WithoutQuery(m.Value) + ")" + query
	case strict && m.Kind == Prefix:
		return regexp.QuoteMeta(strings.TrimRight(m.Value, "/")) + "(?:/[^?]*)?" + query
	case strict:
		return regexp.QuoteMeta(m.Value) + query
	case m.Kind == Prefix:
		path := bytes.TrimRight(resolved(m.Value), `/\`)
		return anySpelling(path) + parameters + `(?:(?:` + anySlash + `|` + endOfPath + `)[^?]*)?` + query
	default:
		return anySpelling(resolved(m.Value)) + parameters + `(?:(?:` + endOfPath + `)[^?]*)?` + query
	}
}

// resolved decodes what is escaped in a path, and resolves its dot segments, which no request has any more.
func resolved(path string) []byte {
	decoded := unescaped(path)
	if canonical, ok := CanonicalPath(strings.ReplaceAll(string(decoded), "%", "%25")); ok {
		return unescaped(canonical)
	}
	return decoded
}

// unescaped decodes what is escaped in a path.
func unescaped(path string) []byte {
	var text []byte
	for i := 0; i < len(path); i++ {
		if i+2 < len(path) && path[i] == '%' {
			if decoded, err := hex.DecodeString(path[i+1 : i+3]); err == nil {
				text = append(text, decoded...)
				i += 2
				continue
			}
		}
		text = append(text, path[i])
	}
	return text
}

// unreserved are characters besides letters and digits that proxies decode where they are escaped (RFC 3986, section 2.3).
const unreserved = "-._~"

// anySpelling matches a path with escapes, parameters and slashes of any kind.
func anySpelling(path []byte) string {
	var expression strings.Builder
	for i, c := range path {
		switch {
		case isSlash(c):
			if i == 0 || !isSlash(path[i-1]) {
				expression.WriteString(slashes)
			}
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(unreserved, c) >= 0:
			expression.WriteString(regexp.QuoteMeta(string(rune(c))))
		case c > unicode.MaxASCII:
			expression.WriteString(escape(c)) // proxies escape it
		default:
			expression.WriteString(`(?:` + regexp.QuoteMeta(string(rune(c))) + `|` + escape(c) + `)`)
		}
	}
	return expression.String()
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// escape matches an escaped character, in digits of either case.
func escape(c byte) string {
	expression := "%"
	for _, digit := range fmt.Sprintf("%02X", c) {
		if digit <= '9' {
			expression += string(digit)
		} else {
			expression += "[" + string(digit) + string(unicode.ToLower(digit)) + "]"
		}
	}
	return expression
}

// WithoutQuery is an expression that matches the same paths and no question mark, so that no query can pass for a part of the path. It has
// bytes only, as Envoy knows no other characters there. What cannot be read matches nothing; resolvers have checked it.
func WithoutQuery(expression string) string {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nothing
	}
	var text strings.Builder
	for _, c := range strings.ReplaceAll(noQuestionMark(parsed).String(), `[^\x00-\x{10FFFF}]`, nothing) {
		if c > unicode.MaxASCII {
			fmt.Fprintf(&text, `\x%02x`, c)
		} else {
			text.WriteRune(c)
		}
	}
	return text.String()
}

// nothing is an expression that no text matches.
const nothing = `[^\x00-\xff]`

// questionMark is the character that begins a query.
const questionMark = '?'

// noQuestionMark changes every part that could match a question mark.
func noQuestionMark(e *syntax.Regexp) *syntax.Regexp {
	switch e.Op { //nolint:exhaustive // all others have parts, or no characters
	case syntax.OpLiteral:
		for _, r := range e.Rune {
			if r == questionMark {
				return &syntax.Regexp{Op: syntax.OpNoMatch}
			}
		}
		return e
	case syntax.OpAnyChar:
		return class(0, unicode.MaxRune)
	case syntax.OpAnyCharNotNL:
		return class(0, '\n'-1, '\n'+1, unicode.MaxRune)
	case syntax.OpCharClass:
		return class(e.Rune...)
	}
	for i, sub := range e.Sub {
		e.Sub[i] = noQuestionMark(sub)
	}
	return e
}

// class is a class of characters, given as ranges, without the question mark and those beyond a byte.
func class(ranges ...rune) *syntax.Regexp {
	e := &syntax.Regexp{Op: syntax.OpCharClass}
	for i := 0; i+1 < len(ranges) && ranges[i] <= unicode.MaxLatin1; i += 2 {
		low, high := ranges[i], min(ranges[i+1], unicode.MaxLatin1)
		if low > questionMark || high < questionMark {
			e.Rune = append(e.Rune, low, high)
			continue
		}
		if low < questionMark {
			e.Rune = append(e.Rune, low, questionMark-1)
		}
		if high > questionMark {
			e.Rune = append(e.Rune, questionMark+1, high)
		}
	}
	if len(e.Rune) == 0 {
		return &syntax.Regexp{Op: syntax.OpNoMatch}
	}
	return e
}
