package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/test/bench/figures"
)

func TestReport(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	run := &figures.Run{Class: ours, Command: "make bench"}
	for _, routes := range []int{100, 1000} {
		p := run.Point(routes, 1)
		p.Idle = figures.Probe{Times: figures.Times{20, 21}, Requests: 40}
		p.Limits = figures.Limits{WatchRoute: figures.Times{9}, EngineRoute: figures.Times{3}}
	}
	if err := run.Save(filepath.Join(docs, "performance", "gatewright.json")); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(docs, "performance.md")
	if err := report(docs); err == nil {
		t.Error("a page that is not there was written")
	}
	if err := os.WriteFile(page, []byte("by hand\n"+beginMark+"\nold\n"+endMark+"\nby hand too\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := report(docs); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, want := range []string{"by hand\n", "by hand too\n", "## gatewright", "| 1,000 ", "1.67 ×", "gatewright-probe-1.svg"} {
		if strings.Count(text, want) == 0 {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "old") || strings.Count(text, beginMark) != 1 {
		t.Errorf("it was not replaced:\n%s", text)
	}
	if svg, err := os.ReadFile(filepath.Join(docs, "performance", "gatewright-probe-1.svg")); err != nil || !strings.Contains(
		string(svg), "<svg",
	) {
		t.Errorf("there is no plot: %v", err)
	}
}
