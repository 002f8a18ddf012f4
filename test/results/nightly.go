package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// figures match the lines of a stage that belong into the report, by the name of the stage. Where an expression has a group, that is what
// is reported.
var figures = map[string]*regexp.Regexp{
	"mutations":    regexp.MustCompile(`^[a-z0-9-]+: (?:found|not found|the) .*`),
	"fuzz":         regexp.MustCompile(`\.go:\d+: (\d+ (?:sets: |requests to each form |expressions).*)|^\d+ fuzz tests.*`),
	"explain":      regexp.MustCompile(`\.go:\d+: (\d+ requests to .*)`),
	"families":     regexp.MustCompile(`^DONE .*`),
	"multicluster": regexp.MustCompile(`_test\.go:\d+: (.* requests.*)`),
	"bench":        regexp.MustCompile(`_test\.go:\d+: (.*)`),
}

// emptyReport is how the report begins.
const emptyReport = "# Nightly run\n\n" +
	"`make nightly` runs everything in its long form, by stage, and writes this file. Each section has the commit that its stage ran on,\n" +
	"and each of the [faults](faults.md) and of the parts of the [simulation](simulation.md) its own.\n"

// writeNightly puts a section for each stage of a run into the report, in place of an earlier one.
func writeNightly(file, commit, day string, stages []stage) error {
	content, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		content, err = []byte(emptyReport), nil
	}
	if err != nil {
		return fmt.Errorf("read the nightly report: %w", err)
	}
	text := string(content)
	for _, s := range stages {
		text = replaceSection(text, s.name, section(s, commit, day)+caseTable(sectionOf(text, s.name), s.cases(commit, day)))
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the nightly report: %w", err)
	}
	return nil
}

// sectionOf returns what the report has under the heading of a stage.
func sectionOf(report, name string) string {
	_, section, _ := strings.Cut(report, "\n## "+name+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// replaceSection puts a section where the one with the same heading is, or at the end.
func replaceSection(report, name, section string) string {
	heading := "\n## " + name + "\n"
	before, after, found := strings.Cut(report, heading)
	if !found {
		return strings.TrimRight(report, "\n") + "\n" + heading + section
	}
	if next := strings.Index(after, "\n## "); next >= 0 {
		return before + heading + section + after[next:]
	}
	return before + heading + section
}

// section is what the report has under the heading of a stage.
func section(s stage, commit, day string) string {
	sum := summarize([]stage{s})
	var b strings.Builder
	outcome := "passed"
	if s.status != 0 || len(sum.failures) > 0 {
		outcome = "FAILED"
	}
	fmt.Fprintf(&b, "\n%s: commit %s, %s, %s minutes; %d passed, %d failed, %d skipped, %d flaky:\n`%s`\n",
		outcome, commit, day, clock(s.duration), sum.passed, sum.failed, sum.skipped, len(sum.flaky), s.command)
	for _, list := range []struct {
		word  string
		tests []failure
	}{{"FAIL", sum.failures}, {"FLAKY", sum.flaky}} {
		for _, f := range list.tests {
			fmt.Fprintf(&b, "\n%s %s\n\n```\n%s\n```\n", list.word, f.name, strings.Join(shortened(f.reason(flakyLines)), "\n"))
		}
	}
	if found := s.figures(); len(found) > 0 {
		fmt.Fprint(&b, "\n| figures |\n|---|\n")
		for _, line := range found {
			fmt.Fprintf(&b, "| %s |\n", cell(line))
		}
	}
	return b.String()
}

// cell is text as a cell of a table has it.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

// figures are the lines of the log and of tests that the report has, each once.
func (s stage) figures() []string {
	expression := figures[s.name]
	if expression == nil {
		return nil
	}
	lines := s.log
	for _, suite := range s.tests {
		for _, key := range suite.results.order {
			lines = append(lines, suite.results.current(key).lines...)
		}
	}
	var found []string
	for _, line := range lines {
		groups := expression.FindStringSubmatch(line)
		if groups == nil {
			continue
		}
		figure := groups[0]
		if last := groups[len(groups)-1]; last != "" {
			figure = last
		}
		if !slices.Contains(found, figure) {
			found = append(found, figure)
		}
	}
	return found
}

// shortened cuts lines to the width of a page.
func shortened(lines []string) []string {
	cut := make([]string, len(lines))
	for i, line := range lines {
		cut[i] = string([]rune(line)[:min(len([]rune(line)), 138)])
	}
	return cut
}
