package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

var (
	nightly = flag.String("nightly", "", "a report of nightly runs, which gets a section for each stage")
	commit  = flag.String("commit", "", "what the stages ran on")
)

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: results [-nightly=FILE -commit=COMMIT] DIRECTORY")
		os.Exit(2)
	}
	ok, err := report(flag.Arg(0))
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
	if *nightly != "" {
		if err := writeNightly(*nightly, *commit, time.Now().UTC().Format(time.DateOnly), stages); err != nil {
			return false, err
		}
	}
	s := summarize(stages)
	fmt.Print(s)
	return len(s.failures) == 0, nil
}
