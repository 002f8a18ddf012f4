package main

import (
	"slices"
	"strings"
	"testing"
)

const example = `
| Term | Meaning | Instead of |
|---|---|---|
| quarantine | serve the last known good version | ` + "`set aside`, `convict*`" + ` |
| cannot | one word | ` + "`can not`" + ` |
| groupState | what proxies of a group have | ` + "`code:book`" + ` |

| Allowed in | Term | Reason |
|---|---|---|
| ` + "`a/b.md`" + ` | ` + "`can not`" + ` | a quotation |
`

func parsed(t *testing.T) *glossary {
	t.Helper()
	g, err := parseGlossary(example)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTermsInText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Routes are set aside.":       1,
		"Set  aside and convicted":    2,
		"the offset aside":            0,
		"set. Aside":                  0,
		"It can not, and it cannot.":  1,
		"a book":                      0,
		"gatewright_set_aside_total":  1,
		"`setAside` is a discouraged": 1,
	} {
		if got := parsed(t).checkText("x.md", text); len(got) != want {
			t.Errorf("%q: %d findings, want %d: %v", text, len(got), want, got)
		}
	}
}

func TestTermsInGo(t *testing.T) {
	t.Parallel()
	found, err := parsed(t).checkGo("x.go", `package x

import "example.com/convict"

// setAside can not fail.
func setAside(openBook int) string {
	_ = convict.Book
	return "was set aside"
}
`)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range found {
		lines = append(lines, f.String())
	}
	want := []string{
		`x.go:5: discouraged term "set aside"; use: quarantine`,
		`x.go:5: discouraged term "can not"; use: cannot`,
		`x.go:6: discouraged term "set aside"; use: quarantine`,
		`x.go:6: discouraged term "book"; use: groupState`,
		`x.go:8: discouraged term "set aside"; use: quarantine`,
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestNameOfAFileIsChecked(t *testing.T) {
	t.Parallel()
	if found := parsed(t).checkName("internal/x/set_aside.go"); len(found) != 1 {
		t.Errorf("got %v, want one finding", found)
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	g := parsed(t)
	if found := g.unused(); len(found) != 1 || found[0].line != 10 {
		t.Errorf("got %v, want one exception that nothing needs", found)
	}
	if found := g.checkText("a/b.md", "It can not. Routes are set aside."); len(found) != 1 {
		t.Errorf("got %v, want a finding for the other term only", found)
	}
	if found := g.unused(); len(found) != 0 {
		t.Errorf("got %v, want nothing: the exception is needed", found)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30)
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"prose":                  {long, 1},
		"short prose":            {"word word", 0},
		"a row of a table":       {"| " + long + " |", 0},
		"one long link":          {"- [a](" + strings.Repeat("x", 200) + ")", 0},
		"a long link after text": {"see [a](" + strings.Repeat("x", 200) + ")", 1},
	} {
		if got := checkLines("x.md", c.text); len(got) != c.want {
			t.Errorf("%s: %v, want %d findings", name, got, c.want)
		}
	}
}

func TestDecisionFormat(t *testing.T) {
	t.Parallel()
	good := "# 1. Title\n\n- Status: accepted\n- Date: 2026-11-15\n\n## Context\n\n## Decision\n\n## Consequences\n"
	if got := decisionProblems("0001-a.md", good, "[a](0001-a.md)"); len(got) != 0 {
		t.Errorf("got %q, want nothing", got)
	}
	if got := decisionProblems("0001-a.md", "# Title\n\n## What was decided\n", ""); len(got) != 3 {
		t.Errorf("got %q, want three problems", got)
	}
}

func TestNamesInMarkdown(t *testing.T) {
	t.Parallel()
	refs := &references{root: ".", tests: map[string]bool{"TestSharedProxies": true}}
	found := refs.check(
		"README.md",
		"TestSharedProxies, TestShared*, [a](doc.go#x), [b](https://example.com)\nTestGone, TestGone*, [c](gone.go)",
	)
	if len(found) != 3 || found[0].line != 2 {
		t.Errorf("got %v, want three findings in line 2", found)
	}
}

func TestPathsInMarkdown(t *testing.T) {
	t.Parallel()
	refs := &references{root: "../.."}
	for text, want := range map[string][]string{
		"`hack/textlint`, `hack/textlint/`, `docs/glossary.md#terms`, `.ci/run`": nil,
		"`hack/verify.sh --all` and `internal/ir/*.go`":                          nil,
		"`hack/textlint/<name>.go`, `internal/<package>/doc.go`":                 nil,
		"`hack/{textlint,parity}/main.go`":                                       nil,
		"`example.com/internal/gone`, `gone/internal`, internal/gone, `docs`":    nil,
		"`hack/gone.sh`":                       {"there is no hack/gone.sh"},
		"`hack/textlint` and `docs/gone.md#a`": {"there is no docs/gone.md"},
		"`hack/{textlint,gone}/<name>.go`":     {"there is no hack/gone/<name>.go"},
		"`hack/textlint/<name>.gone`":          {"there is no hack/textlint/<name>.gone"},
	} {
		var got []string
		for _, f := range refs.check("docs/x.md", text) {
			got = append(got, f.message)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
