package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: results DIRECTORY")
		os.Exit(2)
	}
	ok, err := report(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// report prints the report of one run, and returns whether everything passed.
func report(dir string) (bool, error) {
	stages, err := readStages(dir)
	if err != nil {
		return false, err
	}
	s := summarize(stages)
	fmt.Print(s)
	return len(s.failures) == 0, nil
}
