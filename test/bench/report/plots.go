package main

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	drawing "gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgsvg" // writes SVG

	"github.com/gatewright/gatewright/test/bench/figures"
)

// plotted is a plot that was drawn.
type plotted struct {
	class, title, file string
	gateways           int
}

// curve is a line in a plot: a figure for each number of routes.
type curve struct {
	name   string
	figure func(*figures.Point) float64
}

const (
	width  = 18 * vg.Centimeter
	height = 9 * vg.Centimeter
)

// draw draws what can be drawn: a curve needs two points.
func draw(run *figures.Run, directory string) ([]plotted, error) {
	var all []plotted
	for _, gateways := range shapes(run) {
		points := slices.DeleteFunc(slices.Clone(run.Points), func(p *figures.Point) bool { return p.Gateways != gateways })
		slices.SortFunc(points, func(a, b *figures.Point) int { return a.Routes - b.Routes })
		if len(points) < 2 {
			continue
		}
		for _, kind := range kinds {
			p := plotted{class: run.Class, gateways: gateways, title: kind.title, file: fmt.Sprintf("%s-%s-%d.svg", run.Class, kind.name, gateways)}
			drawn, err := drawOne(kind, points, filepath.Join(directory, p.file))
			if err != nil {
				return nil, err
			}
			if drawn {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

type kind struct {
	name, title, unit string
	curves            []curve
}

var kinds = []kind{
	{name: "probe", title: "One more route: creation to first 200", unit: "ms", curves: []curve{
		{"p99", func(p *figures.Point) float64 { return p.Idle.Times.P99() }},
		{"p50, loaded", func(p *figures.Point) float64 { return p.Loaded.Times.P50() }},
		{"p50", func(p *figures.Point) float64 { return p.Idle.Times.P50() }},
		{"limits (watch + engine), p50", func(p *figures.Point) float64 { return p.Limits.WatchRoute.P50() + p.Limits.EngineRoute.P50() }},
	}},
	{name: "endpoint", title: "An endpoint moves: write to first answer from the new one", unit: "ms", curves: []curve{
		{"p99", func(p *figures.Point) float64 { return p.Endpoint.Times.P99() }},
		{"p50", func(p *figures.Point) float64 { return p.Endpoint.Times.P50() }},
		{"limits (watch + engine), p50", func(p *figures.Point) float64 { return p.Limits.WatchEndpoint.P50() + p.Limits.EngineEndpoint.P50() }},
	}},
	{name: "cpu", title: "Controller CPU for one change", unit: "ms", curves: []curve{
		{"route added", cpuOf("route added")},
		{"route edited", cpuOf("route edited")},
		{"route deleted", cpuOf("route deleted")},
		{"endpoint moved", cpuOf("endpoint moved")},
	}},
}

func cpuOf(kind string) func(*figures.Point) float64 {
	return func(p *figures.Point) float64 {
		if c, ok := p.Costs[kind]; ok {
			return c.CPU * 1000
		}
		return math.NaN()
	}
}

// colours can be told apart by colour-blind readers (Okabe and Ito).
var colours = []color.RGBA{{0xd5, 0x5e, 0x00, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x00, 0x72, 0xb2, 0xff}, {0x00, 0x9e, 0x73, 0xff}}

func drawOne(k kind, points []*figures.Point, path string) (bool, error) {
	p := plot.New()
	p.Title.Text = k.title
	p.X.Label.Text, p.Y.Label.Text = "routes", k.unit
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks(points)
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	for _, style := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font,
		&p.Legend.TextStyle.Font,
	} {
		style.Variant = "Sans"
	}
	p.Add(plotter.NewGrid())
	drawn := 0
	highest := 0.0
	for i, c := range k.curves {
		var line plotter.XYs
		for _, point := range points {
			if y := c.figure(point); !math.IsNaN(y) {
				line = append(line, plotter.XY{X: float64(point.Routes), Y: y})
				highest = max(highest, y)
			}
		}
		if len(line) < 2 {
			continue
		}
		drawn++
		l, s, err := plotter.NewLinePoints(line)
		if err != nil {
			return false, fmt.Errorf("draw %s: %w", c.name, err)
		}
		l.Color, l.Width = colours[i%len(colours)], vg.Points(1.5)
		s.Color, s.Shape = l.Color, drawing.CircleGlyph{}
		p.Add(l, s)
		p.Legend.Add(c.name, l, s)
	}
	// Room for the legend.
	p.Y.Max = highest * 1.5
	if drawn == 0 {
		return false, nil
	}
	if err := p.Save(width, height, path); err != nil {
		return false, fmt.Errorf("draw %s: %w", path, err)
	}
	return true, nil
}

// ticks marks what was measured.
func ticks(points []*figures.Point) plot.ConstantTicks {
	var all plot.ConstantTicks
	for _, p := range points {
		all = append(all, plot.Tick{Value: float64(p.Routes), Label: strconv.Itoa(p.Routes)})
	}
	return all
}
