package main

import (
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/gatewright/gatewright/internal/explain"
)

// The colours of a terminal.
const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
	plain = "\x1b[0m"
)

// textOf is an explanation for people.
func textOf(e *explain.Explanation, colours bool) string {
	var b strings.Builder
	head := headOf(e)
	if colours {
		colour := green
		if e.Failed() {
			colour = red
		}
		head = colour + head + plain
	}
	fmt.Fprintf(&b, "%s  %s\n\n", head, e.Reason)
	writeHops(&b, e)
	writeCandidates(&b, e)
	if len(e.Unserved) > 0 {
		b.WriteString("\nProblems\n")
		for _, u := range e.Unserved {
			fmt.Fprintf(&b, "  %s\n", u.Object)
			for _, p := range u.Problems {
				fmt.Fprintf(&b, "    %s\n", p)
			}
		}
	}
	if len(e.Alternatives) > 0 {
		b.WriteString("\nOther answers are possible\n")
		for _, a := range e.Alternatives {
			fmt.Fprintf(&b, "  %s\n", alternative(a))
		}
	}
	if e.Fix != "" {
		fmt.Fprintf(&b, "\nFix: %s.\n", e.Fix)
	}
	return b.String()
}

// headOf is the status, or what happens instead of one.
func headOf(e *explain.Explanation) string {
	switch {
	case e.Result == explain.Forwarded || e.Result == explain.Passed:
		return "forwarded"
	case e.Result == explain.Closed:
		return "closed"
	case e.GRPCStatus != nil:
		return fmt.Sprintf("%d, grpc-status %d", e.Status, *e.GRPCStatus)
	default:
		return strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
	}
}

func writeHops(b *strings.Builder, e *explain.Explanation) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, h := range e.Hops {
		state := "ok"
		if h.Failed {
			state = "FAILED"
		}
		detail := h.Detail
		if h.Origin != "" {
			detail = strings.TrimSpace(detail + " (from " + h.Origin + ")")
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", h.Name, h.Value, h.Object, state, detail)
	}
	_ = table.Flush()
	trimmed := b.String()
	lines := strings.Split(trimmed, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	b.Reset()
	b.WriteString(strings.Join(lines, "\n"))
}

func writeCandidates(b *strings.Builder, e *explain.Explanation) {
	if len(e.Candidates) == 0 {
		return
	}
	b.WriteString("\nRules that do not get the request\n")
	for i, c := range e.Candidates {
		why := "the rule above comes first"
		if len(c.Misses) > 0 {
			parts := make([]string, len(c.Misses))
			for j, m := range c.Misses {
				parts[j] = m.String()
			}
			why = strings.Join(parts, "; ")
		}
		if i == 0 && len(c.Misses) > 0 {
			why += "   <- nearest"
		}
		fmt.Fprintf(b, "  %s  [%s]\n      %s\n", explain.DescribeRule(c.Rule), c.Match, why)
	}
	if e.Omitted > 0 {
		fmt.Fprintf(b, "  and %d more\n", e.Omitted)
	}
}

func alternative(a explain.Alternative) string {
	status := "any status"
	if a.Status != 0 {
		status = fmt.Sprint(a.Status)
	}
	text := fmt.Sprintf("%s  %s: %s", status, a.Filter, a.When)
	if a.Origin != "" {
		text += " (from " + a.Origin + ")"
	}
	return text
}
