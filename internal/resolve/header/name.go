package header

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxName is the maximum length of a name. The standard has the same limit, where it has one.
const maxName = 256

// CheckName says what is wrong with the name of a header, or of a cookie. The standard allows what HTTP does (RFC 9110, token). Definitions
// check most of them, but not those of every version, and not the names to remove.
func CheckName(field, name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("%s %.32q has %d bytes; a name may have %d", field, name, len(name), maxName)
	case isToken(name):
		return ""
	}
	return fmt.Sprintf("%s %q is not a name that HTTP allows; use letters, digits and hyphens", field, name)
}

// own is how the names of headers begin by which proxies of Gatewright tell each other something.
const own = "x-gatewright-"

// CheckEdit is [CheckName] for a header that is to be set or removed.
func CheckEdit(name string) string {
	switch {
	case strings.EqualFold(name, "host") || strings.HasPrefix(name, ":"):
		return fmt.Sprintf("header %s cannot be edited here; set it in a RequestHeaderModifier, or use the URLRewrite filter", name)
	case strings.HasPrefix(strings.ToLower(name), own):
		return fmt.Sprintf("header %s cannot be edited, because proxies of Gatewright detect loops by it; use another name", name)
	default:
		return CheckName("header", name)
	}
}

// CheckNames is [CheckName] for all names of some lists.
func CheckNames(field string, lists ...[]string) string {
	for _, name := range slices.Concat(lists...) {
		if message := CheckName(field, name); message != "" {
			return message
		}
	}
	return ""
}

func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

// CheckValue says what is wrong with the value of a header (RFC 9110, field-value): control characters end a header, or the connection.
func CheckValue(field, value string) string {
	if !utf8.ValidString(value) {
		return field + " is not UTF-8; encode it so"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return field + " has a line break or another control character; remove it"
	}
	return ""
}
