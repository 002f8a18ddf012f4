package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// results is all that one run has measured.
type results struct {
	Sites []figures
	// Single are scenarios whose routes are all on one Gateway, and Shared one whose routes share one host.
	Single []figures
	Shared []figures
	// Wide is a scenario without and with a route that has no hostname and as many matches as there may be; this one is edited.
	Wide    []figures
	Hosts   []hostFigures
	Streams []streamFigures
}

// write writes the figures as tables to w, or as a page with tables and plots, and as JSON, into a directory.
func (r results) write(w io.Writer, directory string) error {
	r.tables(w)
	if directory == "" {
		return nil
	}
	var page strings.Builder
	page.WriteString("# Figures\n\nWritten by `make scale`. What they mean is said in [Scale](../scale.md).\n")
	r.tables(&page)
	page.WriteString("\n![Processor time for one change](cpu.svg)\n![Heap](heap.svg)\n![Cold start](cold.svg)\n![Proxies](proxies.svg)\n")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, "figures.json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, "figures.md"), []byte(page.String()), 0o644); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return r.draw(directory)
}

func (r results) tables(w io.Writer) {
	for _, t := range []struct {
		title     string
		scenarios []figures
	}{{"Routes over many Gateways", r.Sites}, {"Routes of one Gateway", r.Single}, {"Routes of one host", r.Shared}, {
		"Hosts of one Gateway, without and with a wide route", r.Wide,
	}} {
		if len(t.scenarios) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(w, "\n## %s\n\n", t.title)
		row(
			w, "routes", "Gateways", "Services", "endpoints", "objects, B a route", "beside them, B a route", "cold start", "CPU for that",
			"CPU a route edited", "until the cache has it", "CPU an endpoint changed",
		)
		row(w, "---", "---", "---", "---", "---", "---", "---", "---", "---", "---", "---")
		for _, f := range t.scenarios {
			row(w, f.Routes, f.Gateways, f.Services, f.Endpoints, f.Objects/uint64(f.Routes), f.Heap/uint64(f.Routes), //nolint:gosec // positive
				f.Cold.Round(time.Millisecond), f.ColdCPU.Round(time.Millisecond), micro(f.RouteCPU), micro(f.RouteTime), micro(f.EndpointCPU))
		}
	}
	if last := len(r.Sites) - 1; last >= 0 {
		_, _ = fmt.Fprintf(w, "\n## What the heap of %d routes consists of\n\n", r.Sites[last].Routes)
		row(w, "made by", "B a route")
		row(w, "---", "---")
		for _, h := range r.Sites[last].Holdings {
			if each := h.Bytes / int64(r.Sites[last].Routes); each > 10 {
				row(w, h.Package, each)
			}
		}
	}
	if len(r.Hosts) > 0 {
		_, _ = fmt.Fprintf(w, "\n## A host with many rules, the last one asked for, one thread of Envoy\n\n")
		row(w, "rules", "a tree", "requests/s", "Envoy's CPU each", "as a list", "CPU each", "bytes", "as a list", "translated in")
		row(w, "---", "---", "---", "---", "---", "---", "---", "---", "---")
		for _, h := range r.Hosts {
			row(w, h.Rules, h.Tree, int(h.Rate), micro(h.CPU), int(h.ListRate), micro(h.ListCPU), h.Bytes, h.ListBytes, micro(h.Translation))
		}
	}
	if len(r.Streams) > 0 {
		_, _ = fmt.Fprintf(w, "\n## Proxies on one control plane\n\n")
		row(
			w, "proxies", "Gateways", "routes", "all have everything after", "CPU for that", "KiB a stream", "CPU while idle",
			"endpoint change acknowledged by all", "slowest", "CPU for that",
		)
		row(w, "---", "---", "---", "---", "---", "---", "---", "---", "---", "---")
		for _, s := range r.Streams {
			row(w, s.Proxies, s.Gateways, s.Routes, s.Connected.Round(10*time.Millisecond), s.ConnectedCPU.Round(10*time.Millisecond), s.Memory>>10,
				fmt.Sprintf(
					"%.1f %%", s.IdleCPU*100,
				), s.Typical.Round(time.Millisecond), s.Slowest.Round(time.Millisecond), s.CPU.Round(time.Millisecond))
		}
	}
}

func row(w io.Writer, cells ...any) {
	_, _ = fmt.Fprint(w, "|")
	for _, cell := range cells {
		_, _ = fmt.Fprintf(w, " %v |", cell)
	}
	_, _ = fmt.Fprintln(w)
}

func micro(d time.Duration) string {
	if d >= 10*time.Millisecond {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Microsecond).String()
}
