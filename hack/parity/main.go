package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const documentPath = "docs/policies/parity.md"

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(root); err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	text, err := document()
	if err != nil {
		return err
	}
	path := filepath.Join(root, documentPath)
	if before, err := os.ReadFile(path); err == nil && string(before) == text {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
