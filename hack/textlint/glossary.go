package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

const glossaryPath = "docs/glossary.md"

// A term is one discouraged term, as a sequence of words in lower case. A word that ends in * matches every word that begins so.
type term struct {
	words []string
	// use is what to write instead.
	use string
	// identifiers limits the term to names that Go code declares: in prose the word has other meanings.
	identifiers bool
}

func (t term) String() string { return strings.Join(t.words, " ") }

// An allowance permits one term in the files of a pattern.
type allowance struct {
	pattern, term string
	line          int
	used          bool
}

type glossary struct {
	// first has the terms by their first word, or by its beginning if that ends in *.
	first    map[string][]term
	prefixes []term
	allowed  []*allowance
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// parseGlossary reads the tables of the glossary: a column "Instead of" holds discouraged terms, a table that begins with "Allowed in"
// holds the exceptions.
func parseGlossary(text string) (*glossary, error) {
	g := &glossary{first: map[string][]term{}}
	var header []string
	for number, line := range strings.Split(text, "\n") {
		cells := tableCells(line)
		switch {
		case cells == nil:
			header = nil
		case header == nil:
			header = cells
		case strings.Trim(line, "|-: ") == "":
		case header[0] == "Allowed in":
			if err := g.allow(cells, number+1); err != nil {
				return nil, err
			}
		case header[len(header)-1] == "Instead of":
			if len(cells) != len(header) {
				return nil, fmt.Errorf("line %d: %d cells, the header has %d", number+1, len(cells), len(header))
			}
			g.add(cells[0], cells[len(cells)-1])
		}
	}
	if len(g.first) == 0 {
		return nil, errors.New("no discouraged term found: is there a column \"Instead of\"?")
	}
	return g, nil
}

func tableCells(line string) []string {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// add takes the discouraged terms of one row. A term in the form `code:word` is checked in names only.
func (g *glossary) add(use, discouraged string) {
	for _, span := range codeSpan.FindAllStringSubmatch(discouraged, -1) {
		name, identifiers := strings.CutPrefix(span[1], "code:")
		t := term{words: strings.Fields(strings.ToLower(name)), use: strings.ReplaceAll(use, "`", ""), identifiers: identifiers}
		if strings.HasSuffix(t.words[0], "*") {
			g.prefixes = append(g.prefixes, t)
		}
		g.first[t.words[0]] = append(g.first[t.words[0]], t)
	}
}

func (g *glossary) allow(cells []string, line int) error {
	where, what := codeSpan.FindStringSubmatch(cells[0]), codeSpan.FindAllStringSubmatch(cells[1], -1)
	if len(cells) != 3 || where == nil || what == nil || cells[2] == "" {
		return fmt.Errorf("line %d: an exception has a pattern of files, a term and a reason", line)
	}
	for _, span := range what {
		g.allowed = append(g.allowed, &allowance{pattern: where[1], term: span[1], line: line})
	}
	return nil
}

// allows reports whether an exception covers the term in the file.
func (g *glossary) allows(file string, t term) bool {
	for _, a := range g.allowed {
		if a.term != t.String() {
			continue
		}
		if ok, _ := path.Match(a.pattern, file); ok || strings.HasSuffix(a.pattern, "/") && strings.HasPrefix(file, a.pattern) {
			a.used = true
			return true
		}
	}
	return false
}

// unused returns the exceptions that no file needs any more.
func (g *glossary) unused() []finding {
	var found []finding
	for _, a := range g.allowed {
		if !a.used {
			found = append(
				found,
				finding{glossaryPath, a.line, fmt.Sprintf("nothing needs the exception for %q in %s: remove it", a.term, a.pattern)},
			)
		}
	}
	return found
}
