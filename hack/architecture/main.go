package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	documentPath = "docs/architecture.md"
	begin        = "<!-- begin package diagram, written by make generate -->\n"
	end          = "<!-- end package diagram -->\n"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(root); err != nil {
		fmt.Fprintln(os.Stderr, "architecture:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	before, after, err := update(root)
	if err != nil || before == after {
		return err
	}
	return os.WriteFile(filepath.Join(root, documentPath), []byte(after), 0o600)
}

// update returns the document as it is and as it should be. A violation is an error.
func update(root string) (before, after string, err error) {
	content, err := os.ReadFile(filepath.Join(root, documentPath))
	if err != nil {
		return "", "", err
	}
	code, err := readSource(root)
	if err != nil {
		return "", "", err
	}
	problems := append(checkLayers(code.imports), checkWalks(string(content), code.functions)...)
	if len(problems) > 0 {
		return "", "", errors.New(strings.Join(problems, "\n"))
	}
	head, rest, found := strings.Cut(string(content), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", "", fmt.Errorf("%s: the marks of the package diagram are missing", documentPath)
	}
	return string(content), head + begin + "\n" + diagram(code.imports) + "\n" + end + tail, nil
}
