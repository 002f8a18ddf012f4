package figures

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Times are samples in milliseconds, in the order in which they were taken.
type Times []float64

// Add adds a sample.
func (t *Times) Add(d time.Duration) { *t = append(*t, float64(d)/float64(time.Millisecond)) }

// P50 is the median, P99 what one in a hundred is above.
func (t Times) P50() float64 { return t.percentile(50) }

// P99 is what one in a hundred is above.
func (t Times) P99() float64 { return t.percentile(99) }

// percentile is by nearest rank; of nothing it is not a number.
func (t Times) percentile(p float64) float64 {
	if len(t) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[max(int(math.Ceil(p/100*float64(len(sorted))))-1, 0)]
}

// MarshalJSON keeps microseconds, on one line.
func (t Times) MarshalJSON() ([]byte, error) {
	rounded := make([]float64, len(t))
	for i, v := range t {
		rounded[i] = math.Round(v*1000) / 1000
	}
	return json.Marshal(rounded)
}

func median(values []float64) float64 { return Times(values).P50() }

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

func sumOf(values map[string]float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}
