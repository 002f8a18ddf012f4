package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is rows of text under a title.
type Table struct {
	Title string
	Rows  [][]string
}

// Markdown is the table as Markdown, with columns of even width, so that it reads as plain text too.
func (t Table) Markdown() string {
	widths := make([]int, len(t.Rows[0]))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(row []string, fill string) {
		for i, cell := range row {
			b.WriteString("| " + cell + strings.Repeat(fill, widths[i]-utf8.RuneCountInString(cell)) + " ")
		}
		b.WriteString("|\n")
	}
	line(t.Rows[0], " ")
	line(make([]string, len(widths)), "-")
	for _, row := range t.Rows[1:] {
		line(row, " ")
	}
	return b.String()
}

// Tables are the figures of the shape with so many Gateways.
func (r *Run) Tables(gateways int) []Table {
	points := r.shape(gateways)
	tables := []Table{
		r.goalTable(gateways), probeTable(points), partsTable(points), fillTable(points), endpointTable(points), r.CostTable(gateways),
		dataPlaneTable(r.DataPlane),
	}
	return slices.DeleteFunc(tables, func(t Table) bool { return len(t.Rows) == 1 })
}

// shape are the points with so many Gateways, the smallest first.
func (r *Run) shape(gateways int) []*Point {
	points := slices.DeleteFunc(slices.Clone(r.Points), func(p *Point) bool { return p.Gateways != gateways })
	slices.SortFunc(points, func(a, b *Point) int { return a.Routes - b.Routes })
	return points
}

func (r *Run) goalTable(gateways int) Table {
	t := Table{Title: "What must be shown", Rows: [][]string{{"goal", "figure", ""}}}
	for _, g := range r.Goals(gateways) {
		t.Rows = append(t.Rows, []string{g.Name, g.Figure, g.Result()})
	}
	return t
}

func probeTable(points []*Point) Table {
	t := Table{Title: "One more route: from its creation to the first 200 (ms)", Rows: [][]string{{
		"routes", "idle p50 / p99", "loaded p50 / p99", "probes", "wrong answers", "limit: watch p50 / p99", "limit: engine p50 / p99",
		"p50 to limits",
	}}}
	for _, p := range points {
		limits := p.Limits.WatchRoute.P50() + p.Limits.EngineRoute.P50()
		t.Rows = append(t.Rows, []string{
			Grouped(p.Routes), p.Idle.Times.both(), p.Loaded.Times.both(), fmt.Sprintf("%d + %d", len(p.Idle.Times), len(p.Loaded.Times)),
			fmt.Sprintf("%d of %s", sum(p.Idle.Wrong)+sum(p.Loaded.Wrong), Grouped(p.Idle.Requests+p.Loaded.Requests)),
			p.Limits.WatchRoute.both(), p.Limits.EngineRoute.both(), ratio(p.Idle.Times.P50(), limits),
		})
	}
	return t
}

// partsTable is where the time of a probe goes. What no part accounts for is spent between them: on the wire, in queues, waiting for a CPU.
func partsTable(points []*Point) Table {
	t := Table{Title: "Where the time of one more route goes (ms, p50)", Rows: [][]string{{
		"routes", "all", "watch", "pipeline of one replica", "engine", "between them",
	}}}
	for _, p := range points {
		all, watch, engine := p.Idle.Times.P50(), p.Limits.WatchRoute.P50(), p.Limits.EngineRoute.P50()
		pipeline := p.Costs[changeAdded].Pipeline * 1000
		if pipeline == 0 || math.IsNaN(all) {
			continue
		}
		t.Rows = append(t.Rows, []string{
			Grouped(p.Routes), short(all), short(watch), short(pipeline), short(engine), short(all - watch - pipeline - engine),
		})
	}
	return t
}

// fillTable adds up the steps in which routes came, where each begins with what the one before ended with.
func fillTable(points []*Point) Table {
	t := Table{Title: "All routes, from nothing (s)", Rows: [][]string{{
		"routes", "written", "all serve", "attachedRoutes right", "all have a status", "status writes: routes", "Gateways",
		"controller CPU", "controller memory", "proxy memory per route", "edits: not 200",
	}}}
	have, sofar := 0, Fill{}
	for _, p := range points {
		f := p.Fill
		cells := slices.Repeat([]string{"–"}, 7)
		if f.From == have || f.From == 0 {
			if f.From == 0 {
				sofar = Fill{}
			}
			// A step ends when everything has settled, and the next begins then.
			before := sofar.Answered
			sofar.Answered += max(f.Answered, f.Settled, f.Serving)
			sofar.RouteStatusWrites += f.RouteStatusWrites
			sofar.GatewayStatusWrites += f.GatewayStatusWrites
			sofar.ControllerCPU += f.ControllerCPU
			have = p.Routes
			cells = []string{
				seconds(before + f.Written), seconds(before + f.Serving), seconds(before + f.Settled), seconds(before + f.Answered),
				Grouped(sofar.RouteStatusWrites), Grouped(sofar.GatewayStatusWrites), seconds(sofar.ControllerCPU),
			}
		}
		cells = append([]string{Grouped(p.Routes)}, cells...)
		t.Rows = append(t.Rows, append(cells, mebibytes(p.Memory.Controllers), perRoute(p), editCell(p.Edit)))
	}
	return t
}

func seconds(v float64) string { return fmt.Sprintf("%.1f", v) }

func perRoute(p *Point) string {
	if p.Memory.Proxies == 0 || p.Memory.ProxiesEmpty == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f KiB", float64(p.Memory.Proxies-p.Memory.ProxiesEmpty)/float64(p.Routes)/1024)
}

func editCell(e Edit) string {
	if e.Edits == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %s in %d edits", sum(e.Failures), Grouped(e.Requests), e.Edits)
}

func mebibytes(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func endpointTable(points []*Point) Table {
	t := Table{Title: "An endpoint moves: from the write of its EndpointSlice to the first answer from the new one (ms)", Rows: [][]string{{
		"routes", "p50 / p99", "moves", "wrong answers", "limit: watch p50 / p99", "limit: engine p50 / p99", "p50 to limits",
	}}}
	for _, p := range points {
		limits := p.Limits.WatchEndpoint.P50() + p.Limits.EngineEndpoint.P50()
		t.Rows = append(t.Rows, []string{
			Grouped(p.Routes), p.Endpoint.Times.both(), fmt.Sprint(len(p.Endpoint.Times)),
			fmt.Sprintf("%d of %s", sum(p.Endpoint.Wrong), Grouped(p.Endpoint.Requests)),
			p.Limits.WatchEndpoint.both(), p.Limits.EngineEndpoint.both(), ratio(p.Endpoint.Times.P50(), limits),
		})
	}
	return t
}

// CostTable is what changes cost in the shape with so many Gateways.
func (r *Run) CostTable(gateways int) Table {
	points := r.shape(gateways)
	t := Table{Title: "What one change costs", Rows: [][]string{{
		"change", "routes", "controller CPU (ms)", "of one replica's pipeline (ms)", "values computed, by one replica", "resources sent",
		"bytes sent", "status writes",
	}}}
	kinds := map[string]bool{}
	for _, p := range points {
		for kind := range p.Costs {
			kinds[kind] = true
		}
	}
	for _, kind := range Sorted(kinds) {
		for _, p := range points {
			if c, ok := p.Costs[kind]; ok {
				t.Rows = append(t.Rows, []string{
					kind, Grouped(p.Routes), short(c.CPU * 1000), orNone(c.Pipeline * 1000), listed(c.Computed), listed(c.Sent),
					fmt.Sprintf("%.0f", c.Bytes), listed(c.StatusWrites),
				})
			}
		}
	}
	return t
}

// orNone is a figure that some implementations lack.
func orNone(v float64) string {
	if v == 0 {
		return "–"
	}
	return short(v)
}

// listed is a sum and what it consists of.
func listed(values map[string]float64) string {
	var parts []string
	for _, name := range Sorted(values) {
		if values[name] != 0 {
			parts = append(parts, fmt.Sprintf("%s %.3g", name, values[name]))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return fmt.Sprintf("%.3g: %s", sumOf(values), strings.Join(parts, ", "))
}

func dataPlaneTable(all []*Versus) Table {
	t := Table{Title: "Requests through a proxy, and through the same Envoy with a configuration written by hand (medians)", Rows: [][]string{{
		"protocol", "requests/s", "bare", "ratio", "p99 (ms)", "bare", "ratio", "proxy CPU (µs per request)", "bare", "ratio", "failed",
	}}}
	for _, v := range all {
		row := []string{v.Protocol}
		for _, f := range []func(Speed) float64{
			func(s Speed) float64 { return s.RequestsPerSecond }, func(s Speed) float64 { return s.P99 }, func(s Speed) float64 { return s.CPU },
		} {
			row = append(row, short(medianOf(v.Ours, f)), short(medianOf(v.Bare, f)), fmt.Sprintf("%.3f", v.ratio(f)))
		}
		failed := 0
		for _, s := range slices.Concat(v.Ours, v.Bare) {
			failed += s.Failed
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprint(failed)))
	}
	return t
}

func medianOf(speeds []Speed, figure func(Speed) float64) float64 {
	var values []float64
	for _, s := range speeds {
		values = append(values, figure(s))
	}
	return median(values)
}

func (t Times) both() string {
	if len(t) == 0 {
		return "–"
	}
	return short(t.P50()) + " / " + short(t.P99())
}

func ratio(a, b float64) string {
	if math.IsNaN(a) || math.IsNaN(b) || b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", a/b)
}

// short has three digits that count, or all before the point.
func short(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v >= 100:
		return Grouped(int(math.Round(v)))
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// Grouped is a number with commas.
func Grouped(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Sorted are the keys in order.
func Sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
