package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	decisionsPath  = "docs/decisions/"
	decisionsIndex = decisionsPath + "README.md"
)

var (
	decisionHead = regexp.MustCompile(
		`^# \d+\. .+\n\n- Status: (accepted|superseded by \[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\)|accepted; partly superseded by ` +
			`\[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\))\n` +
			`- Date: \d{4}-\d\d-\d\d\n\n`,
	)
	section = regexp.MustCompile(`(?m)^## (.+)$`)
)

// checkDecisions checks that decision records share one format and are in the index.
func checkDecisions(root string, files []string) ([]finding, error) {
	index, err := os.ReadFile(filepath.Join(root, decisionsIndex))
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, file := range files {
		if !strings.HasPrefix(file, decisionsPath) || file == decisionsIndex {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		for _, problem := range decisionProblems(path.Base(file), string(content), string(index)) {
			found = append(found, finding{file, 1, problem})
		}
	}
	return found, nil
}

func decisionProblems(name, content, index string) []string {
	var problems []string
	if !decisionHead.MatchString(content) {
		problems = append(problems, "want \"# N. Title\", then \"- Status: …\" and \"- Date: YYYY-MM-DD\"")
	}
	var sections []string
	for _, match := range section.FindAllStringSubmatch(content, -1) {
		sections = append(sections, match[1])
	}
	want := []string{"Context", "Decision", "Consequences"}
	if !slices.Equal(sections, want) && !slices.Equal(sections, append(want, "Alternatives")) {
		problems = append(problems, fmt.Sprintf("sections are %q, want Context, Decision, Consequences and perhaps Alternatives", sections))
	}
	if !strings.Contains(index, "("+name+")") {
		problems = append(problems, "is not in "+decisionsIndex)
	}
	return problems
}
