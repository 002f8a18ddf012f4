package figures

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// keepSlowest is how many of the slowest probes are kept with their parts.
const keepSlowest = 5

// Slow is a probe and its parts, in milliseconds from its start.
type Slow struct {
	Took float64 `json:"took"`
	// Written is when the API server had answered the write, and Watched when a bare watch showed the object.
	Written float64 `json:"written"`
	Watched float64 `json:"watched"`
	// LongestRequest is the longest that one request for the host took. A route that is live meanwhile is noticed only after it.
	LongestRequest float64 `json:"longestRequest"`
	// Stolen is how long the host kept the machine's cores meanwhile, on average.
	Stolen float64 `json:"stolen"`
}

// Parts is a probe with its parts as they were measured.
func Parts(took, written, watched, longest, stolen time.Duration) Slow {
	parts := Times{}
	for _, d := range []time.Duration{took, written, watched, longest, stolen} {
		parts.Add(d)
	}
	return Slow{Took: parts[0], Written: parts[1], Watched: parts[2], LongestRequest: parts[3], Stolen: parts[4]}
}

// AddSlow keeps the parts of a probe if it is one of the slowest.
func (p *Probe) AddSlow(s Slow) {
	p.Slowest = append(p.Slowest, s)
	slices.SortFunc(p.Slowest, func(a, b Slow) int { return cmp.Compare(b.Took, a.Took) })
	p.Slowest = p.Slowest[:min(len(p.Slowest), keepSlowest)]
}

// String implements [fmt.Stringer].
func (s Slow) String() string {
	return fmt.Sprintf(
		"%.0f ms: written after %.0f ms, watched after %.0f ms, longest request %.0f ms; the host kept the cores for %.0f ms",
		s.Took, s.Written, s.Watched, s.LongestRequest, s.Stolen,
	)
}
