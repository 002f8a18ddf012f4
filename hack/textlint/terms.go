package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// checkText checks a file that is prose, or a script with comments.
func (g *glossary) checkText(file, content string) []finding {
	found := g.checkName(file)
	for i, line := range strings.Split(content, "\n") {
		found = append(found, g.match(file, i+1, line, false)...)
	}
	return found
}

// checkName checks the name of the file, which is an identifier too.
func (g *glossary) checkName(file string) []finding {
	base := path.Base(file)
	return g.match(file, 1, strings.TrimSuffix(base, path.Ext(base)), true)
}

// checkGo checks comments, strings, and the names that a Go file declares. Names that others declare are theirs.
func (g *glossary) checkGo(file, content string) ([]finding, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := g.checkName(file)
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			start := set.Position(comment.Pos()).Line
			for i, line := range strings.Split(comment.Text, "\n") {
				found = append(found, g.match(file, start+i, line, false)...)
			}
		}
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				found = append(found, g.matchString(file, set.Position(n.Pos()).Line, n.Value)...)
			}
		default:
			for _, name := range declared(node) {
				found = append(found, g.match(file, set.Position(name.Pos()).Line, name.Name, true)...)
			}
		}
		return true
	})
	return found, nil
}

func (g *glossary) matchString(file string, line int, literal string) []finding {
	text, err := strconv.Unquote(literal)
	if err != nil {
		text = literal
	}
	var found []finding
	for i, part := range strings.Split(text, "\n") {
		at := line
		if strings.HasPrefix(literal, "`") {
			at += i
		}
		found = append(found, g.match(file, at, part, false)...)
	}
	return found
}

// declared returns the names that a node declares itself.
func declared(node ast.Node) []*ast.Ident {
	switch n := node.(type) {
	case *ast.File:
		return []*ast.Ident{n.Name}
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.Field:
		return n.Names
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return idents(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			return idents(n.Key, n.Value)
		}
	case *ast.LabeledStmt:
		return []*ast.Ident{n.Label}
	}
	return nil
}

func idents(expressions ...ast.Expr) []*ast.Ident {
	var names []*ast.Ident
	for _, e := range expressions {
		if name, ok := e.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	return names
}

// match returns a finding for each discouraged term in one line.
func (g *glossary) match(file string, line int, text string, identifier bool) []finding {
	var found []finding
	words := splitWords(text)
	for i := range words {
		candidates := append([]term(nil), g.first[words[i]]...)
		for _, t := range g.prefixes {
			if strings.HasPrefix(words[i], strings.TrimSuffix(t.words[0], "*")) {
				candidates = append(candidates, t)
			}
		}
		for _, t := range candidates {
			if t.identifiers && !identifier || !t.matches(words[i:]) || g.allows(file, t) {
				continue
			}
			found = append(found, finding{file, line, fmt.Sprintf("discouraged term %q; use: %s", t, t.use)})
		}
	}
	return found
}

func (t term) matches(words []string) bool {
	if len(words) < len(t.words) {
		return false
	}
	for i, want := range t.words {
		if prefix, ok := strings.CutSuffix(want, "*"); ok && strings.HasPrefix(words[i], prefix) {
			continue
		}
		if words[i] != want {
			return false
		}
	}
	return true
}

// splitWords returns the words of a text in lower case: runs of letters, and the parts of names such as fooBar and HTTPRoute.
// Sentence ends and other marks between words are words of their own, so that no term matches across them.
func splitWords(text string) []string {
	var words []string
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if !unicode.IsLetter(runes[i]) {
			if r := runes[i]; r != ' ' && r != '\t' && r != '_' && r != '-' {
				words = append(words, string(r))
			}
			i++
			continue
		}
		end := i + 1
		for end < len(runes) && unicode.IsLetter(runes[end]) && !wordStarts(runes, end) {
			end++
		}
		words = append(words, strings.ToLower(string(runes[i:end])))
		i = end
	}
	return words
}

// wordStarts reports whether a new word starts at i: at a capital after a small letter, and at the last of several capitals.
func wordStarts(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	return unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}
