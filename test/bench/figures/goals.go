package figures

import (
	"fmt"
	"math"
)

// Goal is something that must be shown, with the figure that shows it.
type Goal struct {
	Name   string
	Figure string
	// Measured says whether there is a figure at all.
	Measured bool
	Reached  bool
}

// What must be shown.
const (
	maxToLimits    = 2.0
	maxGrowth      = 1.3
	maxTail        = 3.0
	maxLoaded      = 1.5
	maxEndpoint    = 1.5
	minThroughput  = 0.98
	maxTailVersus  = 1.05
	largePoint     = 10_000
	smallPoint     = 1_000
	editPoint      = 5_000
	editsAtLeast   = 300
	leastOfRounds  = 5
	changeEndpoint = "endpoint moved"
	changeAdded    = "route added"
)

// Goals says of each goal whether it is reached, for the shape with so many Gateways.
func (r *Run) Goals(gateways int) []Goal {
	large, small := r.at(largePoint, gateways), r.at(smallPoint, gateways)
	goals := []Goal{missing("probe at 10,000 routes, p50 ≤ 2 × (watch + engine)"), missing("probe p50 at 10,000 ≤ 1.3 × that at 1,000")}
	if large != nil {
		limits := large.Limits.WatchRoute.P50() + large.Limits.EngineRoute.P50()
		goals[0] = atMost(goals[0].Name, large.Idle.Times.P50(), limits, maxToLimits)
		if small != nil {
			goals[1] = atMost(goals[1].Name, large.Idle.Times.P50(), small.Idle.Times.P50(), maxGrowth)
		}
	}
	wrong, asked := 0, 0
	for _, p := range r.Points {
		if p.Gateways != gateways || len(p.Idle.Times) == 0 {
			continue
		}
		at := " at " + Grouped(p.Routes)
		goals = append(goals,
			atMost("probe p99 ≤ 3 × p50"+at, p.Idle.Times.P99(), p.Idle.Times.P50(), maxTail),
			atMost("probe p50 loaded ≤ 1.5 × idle"+at, p.Loaded.Times.P50(), p.Idle.Times.P50(), maxLoaded),
			atMost(
				"endpoint p50 ≤ 1.5 × (watch + engine)"+at, p.Endpoint.Times.P50(), p.Limits.WatchEndpoint.P50()+p.Limits.EngineEndpoint.P50(),
				maxEndpoint,
			),
		)
		wrong += sum(p.Idle.Wrong) + sum(p.Loaded.Wrong) + sum(p.Endpoint.Wrong) + sum(p.Fill.Wrong)
		asked += p.Idle.Requests + p.Loaded.Requests + p.Endpoint.Requests
	}
	goals = append(goals, none("wrong answers", wrong, asked, "answers"), r.edits(gateways), r.translations(gateways))
	return append(goals, r.dataPlane()...)
}

func (r *Run) edits(gateways int) Goal {
	name := "edit: requests not answered 200, 300 edits at 5,000 routes"
	p := r.at(editPoint, gateways)
	if p == nil || p.Edit.Edits < editsAtLeast {
		return missing(name)
	}
	return none(name, sum(p.Edit.Failures), p.Edit.Requests, "requests")
}

// translations counts the computations that a change of an endpoint caused, beyond its load assignment.
func (r *Run) translations(gateways int) Goal {
	name := "endpoint: translations"
	n, changes := 0.0, 0
	for _, p := range r.Points {
		cost, ok := p.Costs[changeEndpoint]
		if p.Gateways != gateways || !ok || len(cost.Computed) == 0 {
			continue
		}
		changes += cost.Changes
		for stage, computed := range cost.Computed {
			if !mayCause[stage] {
				n += computed * float64(cost.Changes)
			}
		}
	}
	if changes == 0 {
		return missing(name)
	}
	return none(name, int(math.Round(n)), changes, "changes")
}

func (r *Run) dataPlane() []Goal {
	var goals []Goal
	for _, v := range r.DataPlane {
		throughput, tail := v.ratio(func(s Speed) float64 { return s.RequestsPerSecond }), v.ratio(func(s Speed) float64 { return s.P99 })
		for _, g := range []struct {
			name    string
			ratio   float64
			reached bool
		}{
			{"data plane, " + v.Protocol + ": requests/s ≥ 0.98 × bare Envoy", throughput, throughput >= minThroughput},
			{"data plane, " + v.Protocol + ": p99 ≤ 1.05 × bare Envoy", tail, tail <= maxTailVersus},
		} {
			rounds := min(len(v.Ours), len(v.Bare))
			goals = append(goals, Goal{
				Name: g.name, Measured: rounds >= leastOfRounds, Reached: g.reached,
				Figure: fmt.Sprintf("%.3f ×, median of %d rounds", g.ratio, rounds),
			})
		}
	}
	return goals
}

// ratio is the median over the rounds of ours to bare.
func (v *Versus) ratio(figure func(Speed) float64) float64 {
	var ratios []float64
	for i := range min(len(v.Ours), len(v.Bare)) {
		ratios = append(ratios, figure(v.Ours[i])/figure(v.Bare[i]))
	}
	return median(ratios)
}

func missing(name string) Goal { return Goal{Name: name, Figure: "not measured"} }

func atMost(name string, got, base, factor float64) Goal {
	if math.IsNaN(got) || math.IsNaN(base) || base == 0 {
		return missing(name)
	}
	return Goal{
		Name: name, Measured: true, Reached: got <= factor*base,
		Figure: fmt.Sprintf("%.2f × (%s of %s ms)", got/base, short(got), short(base)),
	}
}

func none(name string, n, of int, what string) Goal {
	if of == 0 {
		return missing(name)
	}
	return Goal{Name: name, Measured: true, Reached: n == 0, Figure: fmt.Sprintf("%s of %s %s", Grouped(n), Grouped(of), what)}
}

// Result is how a goal stands.
func (g Goal) Result() string {
	switch {
	case !g.Measured:
		return "not measured"
	case g.Reached:
		return "reached"
	default:
		return "NOT reached"
	}
}
