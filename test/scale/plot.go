package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgsvg" // writes SVG
)

// chart is how some figures grow.
type chart struct {
	file, title, x, y string
	names             []string
	lines             []plotter.XYs
}

func (c *chart) line(name string, n int, point func(i int) (x, y float64)) {
	line := make(plotter.XYs, n)
	for i := range line {
		line[i].X, line[i].Y = point(i)
	}
	c.names, c.lines = append(c.names, name), append(c.lines, line)
}

// draw draws the charts.
func (r results) draw(directory string) error {
	cpu := chart{file: "cpu.svg", title: "Processor time for one change", x: "routes", y: "µs"}
	heap := chart{file: "heap.svg", title: "Heap beside the stored objects", x: "routes", y: "MiB"}
	cold := chart{file: "cold.svg", title: "Cold start", x: "routes", y: "s"}
	for _, set := range []struct {
		name      string
		scenarios []figures
	}{{"many Gateways", r.Sites}, {"one Gateway", r.Single}} {
		at := func(figure func(figures) float64) func(int) (float64, float64) {
			return func(i int) (float64, float64) { return float64(set.scenarios[i].Routes), figure(set.scenarios[i]) }
		}
		cpu.line("route edited, "+set.name, len(set.scenarios), at(func(f figures) float64 { return inUnits(f.RouteCPU, time.Microsecond) }))
		cpu.line("endpoint changed, "+set.name, len(set.scenarios), at(func(f figures) float64 {
			return inUnits(
				f.EndpointCPU, time.Microsecond,
			)
		}))
		heap.line(set.name, len(set.scenarios), at(func(f figures) float64 { return float64(f.Heap) / (1 << 20) }))
		cold.line(set.name, len(set.scenarios), at(func(f figures) float64 { return f.Cold.Seconds() }))
	}
	proxies := chart{file: "proxies.svg", title: "One endpoint change, acknowledged by all proxies of one Gateway", x: "proxies", y: "ms"}
	var single []streamFigures
	for _, s := range r.Streams {
		if s.Gateways == 1 {
			single = append(single, s)
		}
	}
	proxies.line("slowest of 20", len(single), func(i int) (float64, float64) {
		return float64(single[i].Proxies), inUnits(single[i].Slowest, time.Millisecond)
	})
	proxies.line("middle", len(single), func(i int) (float64, float64) {
		return float64(single[i].Proxies), inUnits(single[i].Typical, time.Millisecond)
	})
	for _, c := range []chart{cpu, heap, cold, proxies} {
		if err := c.save(directory); err != nil {
			return err
		}
	}
	return nil
}

func inUnits(d, unit time.Duration) float64 { return float64(d) / float64(unit) }

func (c chart) save(directory string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, c.x, c.y
	p.X.Scale = plot.LogScale{}
	p.Legend.Top, p.Legend.Left = true, true
	for _, style := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font,
		&p.Legend.TextStyle.Font,
	} {
		style.Variant = "Sans"
	}
	p.Add(plotter.NewGrid())
	var ticks plot.ConstantTicks
	highest := 0.0
	for i, line := range c.lines {
		if len(line) < 2 {
			continue
		}
		for _, at := range line {
			ticks = append(ticks, plot.Tick{Value: at.X, Label: strconv.Itoa(int(at.X))})
			highest = max(highest, at.Y)
		}
		l, s, err := plotter.NewLinePoints(line)
		if err != nil {
			return fmt.Errorf("draw %s: %w", c.title, err)
		}
		l.Color, l.Width, s.Color, s.Shape = plotutil.DarkColors[i%len(plotutil.DarkColors)], vg.Points(1.5), plotutil.DarkColors[i%len(
			plotutil.DarkColors,
		)], plotutil.Shape(i)
		p.Add(l, s)
		p.Legend.Add(c.names[i], l, s)
	}
	if len(ticks) == 0 {
		return nil
	}
	// Room for the legend above the lines.
	p.Y.Min, p.Y.Max, p.X.Tick.Marker = 0, highest*1.4, ticks
	if err := p.Save(16*vg.Centimeter, 8*vg.Centimeter, filepath.Join(directory, c.file)); err != nil {
		return fmt.Errorf("draw %s: %w", c.title, err)
	}
	return nil
}
