package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	testName    = regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9_]*\*?`)
	testDeclare = regexp.MustCompile(`(?m)^func (Test[A-Z][A-Za-z0-9_]*)\(`)
	linkTarget  = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	// A code span that begins with a directory of the repository is a path; what is behind a space or a # is not a part of it.
	repositoryPath = regexp.MustCompile("`((?:internal|test|hack|docs|api|charts|cmd|\\.ci)/[^`#\\s]*)[^`]*`")
	placeholder    = regexp.MustCompile(`<[^>]*>`)
	alternatives   = regexp.MustCompile(`\{([^{}]*)\}`)
)

// references checks that tests, files and directories which Markdown names exist.
type references struct {
	root  string
	tests map[string]bool
}

func newReferences(root string, files []string) (*references, error) {
	r := &references{root: root, tests: map[string]bool{}}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		for _, match := range testDeclare.FindAllStringSubmatch(string(content), -1) {
			r.tests[match[1]] = true
		}
	}
	return r, nil
}

func (r *references) check(file, content string) []finding {
	if !strings.HasSuffix(file, ".md") {
		return nil
	}
	var found []finding
	for i, line := range strings.Split(content, "\n") {
		for _, name := range testName.FindAllString(line, -1) {
			if !r.hasTest(name) {
				found = append(found, finding{file, i + 1, fmt.Sprintf("there is no test %s", name)})
			}
		}
		for _, match := range linkTarget.FindAllStringSubmatch(line, -1) {
			if target := match[1]; !strings.Contains(target, ":") && !r.hasFile(path.Dir(file), target) {
				found = append(found, finding{file, i + 1, fmt.Sprintf("the link leads to %s, which does not exist", target)})
			}
		}
		for _, match := range repositoryPath.FindAllStringSubmatch(line, -1) {
			for _, one := range alternativesOf(match[1]) {
				if !r.hasPath(one) {
					found = append(found, finding{file, i + 1, fmt.Sprintf("there is no %s", one)})
				}
			}
		}
	}
	return found
}

// alternativesOf are the paths that `a/{b,c}` stands for.
func alternativesOf(text string) []string {
	span := alternatives.FindStringSubmatchIndex(text)
	if span == nil {
		return []string{text}
	}
	var paths []string
	for one := range strings.SplitSeq(text[span[2]:span[3]], ",") {
		paths = append(paths, alternativesOf(text[:span[0]]+one+text[span[1]:])...)
	}
	return paths
}

// hasPath reports whether a path exists. `<name>` stands for anything, as * does: something of that form has to exist.
func (r *references) hasPath(text string) bool {
	matches, err := filepath.Glob(filepath.Join(r.root, placeholder.ReplaceAllString(text, "*")))
	return err == nil && len(matches) > 0
}

// hasTest reports whether a test exists, or one whose name begins so if the name ends in *.
func (r *references) hasTest(name string) bool {
	prefix, ok := strings.CutSuffix(name, "*")
	if !ok {
		return r.tests[name]
	}
	for test := range r.tests {
		if strings.HasPrefix(test, prefix) {
			return true
		}
	}
	return false
}

// hasFile reports whether a link leads to a file, from the directory of its page, or from docs for text that becomes a part of a page
// there.
func (r *references) hasFile(directory, target string) bool {
	for _, base := range []string{directory, "docs"} {
		if _, err := os.Stat(filepath.Join(r.root, path.Join(base, target))); err == nil {
			return true
		}
	}
	return false
}
