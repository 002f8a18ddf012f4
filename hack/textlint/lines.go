package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const maxColumns = 140

// checkLines reports lines that are too long. Rows of Markdown tables are exempt, as is a line that has no space to break at: Markdown and
// YAML have no way to write those on two lines. Go has lll for this.
func checkLines(file, content string) []finding {
	var found []finding
	for i, line := range strings.Split(content, "\n") {
		columns := utf8.RuneCountInString(line)
		if columns <= maxColumns || strings.HasPrefix(strings.TrimSpace(line), "|") || !breakable(line) {
			continue
		}
		found = append(found, finding{file, i + 1, fmt.Sprintf("%d columns, more than %d", columns, maxColumns)})
	}
	return found
}

// breakable reports whether a space stands between two words of the line before the limit.
func breakable(line string) bool {
	text := strings.TrimLeft(line, " \t-*>#")
	start := utf8.RuneCountInString(line) - utf8.RuneCountInString(text)
	runes := []rune(text)
	return strings.ContainsRune(string(runes[:max(0, min(len(runes), maxColumns-start))]), ' ')
}
