package main

import (
	"fmt"
	"io"
	"strings"
)

// report writes a table: thousands of instructions for each request, and how many more or fewer than ours.
func report(to io.Writer, subjects []*subject, spoken []protocol) {
	_, _ = fmt.Fprint(to, "| |")
	for _, p := range spoken {
		_, _ = fmt.Fprintf(to, " %s | to Gatewright |", p.name)
	}
	_, _ = fmt.Fprintf(to, "\n|---|%s\n", strings.Repeat("---:|---:|", len(spoken)))
	for _, s := range subjects {
		_, _ = fmt.Fprintf(to, "| %s |", s.name)
		for k := range spoken {
			// The first two are the same.
			same := (subjects[0].instructions[k] + subjects[1].instructions[k]) / 2
			_, _ = fmt.Fprintf(
				to, " %.1f | %+.1f (%+.1f%%) |", s.instructions[k]/1000, (s.instructions[k]-same)/1000, 100*(s.instructions[k]/same-1),
			)
		}
		_, _ = fmt.Fprintln(to)
	}
}
