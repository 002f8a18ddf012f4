package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gatewright/gatewright/test/bench/figures"
)

func main() {
	command := &cobra.Command{
		Use:   "report DOCS",
		Short: "Write DOCS/performance.md and its plots from the figures in DOCS/performance",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, arguments []string) error { return report(arguments[0]) },
		// An error is no reason to explain how the command is called.
		SilenceUsage: true,
	}
	if command.Execute() != nil {
		os.Exit(1)
	}
}

// ours is the implementation that the page is about.
const ours = "gatewright"

func report(docs string) error {
	directory := filepath.Join(docs, "performance")
	files, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		return fmt.Errorf("find the figures: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("there are no figures in %s: run make bench first", directory)
	}
	var runs []*figures.Run
	for _, file := range files {
		run, err := figures.Load(file)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	// Ours first, then by name.
	slices.SortFunc(runs, func(a, b *figures.Run) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Class, b.Class))
	})
	var plots []plotted
	for _, run := range runs {
		more, err := draw(run, directory)
		if err != nil {
			return err
		}
		plots = append(plots, more...)
	}
	return replaceGenerated(filepath.Join(docs, "performance.md"), page(runs, plots))
}

func rank(r *figures.Run) int {
	if r.Class == ours {
		return 0
	}
	return 1
}
