package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	// A function is named as package.Function or package.Type.Method, with the path of the package below internal.
	functionName = regexp.MustCompile(`^([a-z][a-z0-9/]*)\.([A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z][A-Za-z0-9]*)?)$`)
)

// checkWalks returns a message for each function that the walks name and the code does not have, and for a walk that is too long for a
// page.
func checkWalks(document string, functions map[string]map[string]bool) []string {
	_, walks, ok := strings.Cut(document, "\n## Three walks through the code\n")
	if !ok {
		return []string{"there is no section \"Three walks through the code\""}
	}
	walks, _, _ = strings.Cut(walks, "\n## ")
	var problems []string
	named := 0
	for _, span := range codeSpan.FindAllStringSubmatch(walks, -1) {
		match := functionName.FindStringSubmatch(span[1])
		if match == nil || strings.HasSuffix(span[1], ".go") {
			continue
		}
		named++
		if !functions["internal/"+match[1]][match[2]] {
			problems = append(problems, fmt.Sprintf("the walks name %s, which does not exist", span[1]))
		}
	}
	if named == 0 {
		problems = append(problems, "the walks name no function")
	}
	const page = 50
	for _, walk := range strings.Split(walks, "\n### ")[1:] {
		if lines := strings.Count(walk, "\n"); lines > page {
			title, _, _ := strings.Cut(walk, "\n")
			problems = append(problems, fmt.Sprintf("the walk %q has %d lines, more than a page of %d", title, lines, page))
		}
	}
	return problems
}
