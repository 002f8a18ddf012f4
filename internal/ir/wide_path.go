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
	expression = strings.TrimPrefix(expression, "(?s)")
	if !strings.Contains(expression, "|") {
		return beginning(expression)
	}
	all := alternatives(expression)
	if len(all) == 0 {
		return ""
	}
	common := beginning(all[0])
	for _, other := range all[1:] {
		also, end := beginning(other), 0
		for end < min(len(common), len(also)) && common[end] == also[end] {
			end++
		}
		common = common[:end]
	}
	return common
}

// beginning is what every text begins with that an alternative could match.
func beginning(alternative string) string {
	alternative = strings.TrimPrefix(alternative, "^")
	end := strings.IndexFunc(alternative, func(c rune) bool { return strings.ContainsRune(`\.+*?()[]{}^$|`, c) || c > '~' || c <= ' ' })
	if end < 0 {
		return alternative
	}
	if end > 0 && strings.ContainsRune("*?{", rune(alternative[end])) {
		// The character before may be missing.
		end--
	}
	return alternative[:end]
}

// alternatives are those of an expression, none if they are not plain to see.
func alternatives(expression string) []string {
	if strings.Contains(expression, `\Q`) || strings.Contains(expression, "[:") {
		return nil
	}
	if strings.Contains(strings.ReplaceAll(expression, "(?:", ""), "(?") {
		// Flags hold for the alternatives behind them too.
		return nil
	}
	var all []string
	start, depth := 0, 0
	for i := 0; i < len(expression); i++ {
		switch expression[i] {
		case '\\':
			i++
		case '[':
			if i = classEnd(expression, i+1); i == len(expression) {
				return nil
			}
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return nil
			}
		case '|':
			if depth == 0 {
				all = append(all, expression[start:i])
				start = i + 1
			}
		}
	}
	if depth > 0 {
		return nil
	}
	return append(all, expression[start:])
}

// classEnd is where a class of characters ends whose content starts here, the length of the expression if it does not.
func classEnd(expression string, i int) int {
	if i < len(expression) && expression[i] == '^' {
		i++
	}
	for first := i; i < len(expression); i++ {
		switch {
		case expression[i] == '\\':
			i++
		case expression[i] == ']' && i > first:
			return i
		}
	}
	return len(expression)
}
