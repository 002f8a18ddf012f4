package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/gatewright/gatewright/"

// A source is what the program needs to know of the code.
type source struct {
	// imports has the packages of this repository that each package imports.
	imports map[string][]string
	// functions has the names of functions and methods (Type.Method) of each package.
	functions map[string]map[string]bool
}

// readSource reads the packages of the controller. Tests, and packages that only tests import, are left out.
func readSource(root string) (source, error) {
	s := source{imports: map[string][]string{}, functions: map[string]map[string]bool{}}
	for _, top := range []string{"api", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "fuzzobjects" || strings.HasSuffix(entry.Name(), "test")) {
				return filepath.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || entry.Name() == "doc.go" {
				return nil
			}
			return s.readFile(root, path)
		})
		if err != nil {
			return source{}, err
		}
	}
	for name, imported := range s.imports {
		slices.Sort(imported)
		s.imports[name] = slices.Compact(imported)
	}
	return s, nil
}

func (s source) readFile(root, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	directory, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	name := filepath.ToSlash(directory)
	if s.functions[name] == nil {
		s.functions[name] = map[string]bool{}
		s.imports[name] = nil
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if own, ok := strings.CutPrefix(imported, module); ok {
			s.imports[name] = append(s.imports[name], own)
		}
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			s.functions[name][receiver(function)+function.Name.Name] = true
		}
	}
	return nil
}

// receiver returns "Type." for a method, and nothing for a function.
func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil || len(function.Recv.List) == 0 {
		return ""
	}
	expression := function.Recv.List[0].Type
	if star, ok := expression.(*ast.StarExpr); ok {
		expression = star.X
	}
	switch generic := expression.(type) {
	case *ast.IndexExpr:
		expression = generic.X
	case *ast.IndexListExpr:
		expression = generic.X
	}
	if name, ok := expression.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
