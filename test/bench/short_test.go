//go:build bench

package bench

import (
	"fmt"
	"testing"

	"github.com/gatewright/gatewright/test/bench/figures"
)

// The sizes between which nothing may grow.
const (
	fewRoutes  = 50
	manyRoutes = 500
)

// TestCosts counts what changes cost among few routes and among ten times as many. It measures no time, so it says the same on any machine.
//
//nolint:paralleltest // what others do would be counted
func TestCosts(t *testing.T) {
	s := newScenario(t, 1)
	s.fill(t, fewRoutes)
	progress("changes among %d routes", fewRoutes)
	few := s.costs(t)
	s.fill(t, manyRoutes)
	progress("changes among %d routes", manyRoutes)
	many := s.costs(t)
	run := &figures.Run{Points: []*figures.Point{
		{Routes: fewRoutes, Gateways: 1, Costs: few},
		{Routes: manyRoutes, Gateways: 1, Costs: many},
	}}
	fmt.Printf("\n%s\n", run.CostTable(1).Markdown())
	for kind := range many {
		t.Run(kind, func(t *testing.T) {
			if many[kind].Changes == 0 || len(many[kind].Computed) == 0 {
				t.Fatal("the controller does not tell what it computed")
			}
			for _, complaint := range figures.Excess(kind, few[kind], many[kind]) {
				t.Error(complaint)
			}
		})
	}
}
