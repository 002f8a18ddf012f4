package ir

import "strings"

// Widened is a path for at least what this one takes, that no proxy rejects.
func (m StringMatch) Widened() StringMatch {
	value := m.Value
	if m.Kind == Regex {
		value = LiteralBeginning(value)
	}
	plain := value[:plainLength(value)]
	if m.Kind != Regex && plain == m.Value {
		return m
	}
	// A prefix has whole segments.
	wide := StringMatch{Kind: Prefix, Value: "/"}
	if end := strings.LastIndex(plain, "/"); end > 0 {
		wide.Value = plain[:end]
	}
	return wide
}

// plainLength is how much of a path has only characters that are the same everywhere.
func plainLength(path string) int {
	end := strings.IndexFunc(path, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !letter && !strings.ContainsRune("/-._~", c)
	})
	if end < 0 {
		return len(path)
	}
	return end
}

// LiteralBeginning is what every text begins with that an expression could match, as far as that is plain to see.
func LiteralBeginning(expression string) string {
	expression = strings.TrimPrefix(expression, "^")
	if strings.Contains(expression, "|") {
		return ""
	}
	end := strings.IndexFunc(expression, func(c rune) bool { return strings.ContainsRune(`\.+*?()[]{}^$`, c) || c > '~' || c <= ' ' })
	if end < 0 {
		return expression
	}
	if end > 0 && strings.ContainsRune("*?{", rune(expression[end])) {
		// The character before may be missing.
		end--
	}
	return expression[:end]
}
