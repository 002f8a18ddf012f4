//go:build bench

package bench

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/bench/figures"
	"github.com/gatewright/gatewright/test/live"
)

// costChanges is how many changes of each kind are made.
const costChanges = 40

// meter is what controllers have done so far, as they tell: nothing, if they do not.
type meter struct {
	replicas       float64
	computed, sent map[string]float64
	bytes, writes  map[string]float64
	// rounds are the seconds that were spent in each lane.
	rounds map[string]float64
}

func (s *scenario) meter(t *testing.T) meter {
	t.Helper()
	m := meter{
		computed: map[string]float64{}, sent: map[string]float64{}, bytes: map[string]float64{}, writes: map[string]float64{},
		rounds: map[string]float64{},
	}
	controllers := s.controllers(t)
	for i := range controllers {
		metrics, err := live.ReadMetrics(t.Context(), &controllers[i])
		if err != nil {
			continue // others have their metrics elsewhere, or none
		}
		m.replicas++
		for into, values := range map[*map[string]float64]map[string]float64{
			&m.computed: metrics.By("gatewright_pipeline_computed_total", "stage"),
			&m.sent:     metrics.By("gatewright_xds_resources_sent_total", "type"),
			&m.bytes:    metrics.By("gatewright_xds_bytes_sent_total", "type"),
			&m.writes:   metrics.By("gatewright_status_writes_total", "kind"),
			&m.rounds:   metrics.By("gatewright_pipeline_round_seconds_sum", "lane"),
		} {
			for name, value := range values {
				(*into)[name] += value
			}
		}
	}
	return m
}

// still waits until controllers do nothing more, and returns what they have done.
func (s *scenario) still(t *testing.T) meter {
	t.Helper()
	s.quiet(t)
	last := s.meter(t)
	live.Eventually(t, time.Minute, 500*time.Millisecond, func(context.Context) error {
		before := last
		if last = s.meter(t); !reflect.DeepEqual(last, before) {
			return errors.New("the controllers are at work")
		}
		return nil
	})
	return last
}

// cost makes changes one after the other and says what each of them cost.
func (s *scenario) cost(t *testing.T, change func(i int)) figures.Cost {
	t.Helper()
	before := s.still(t)
	cpu := live.UsageOf(t, s.controllers(t)).CPU
	for i := range costChanges {
		change(i)
	}
	s.quiet(t)
	cost := figures.Cost{Changes: costChanges, CPU: (live.UsageOf(t, s.controllers(t)).CPU - cpu).Seconds() / costChanges}
	after := s.still(t)
	for name, bytes := range after.bytes {
		cost.Bytes += (bytes - before.bytes[name]) / costChanges
	}
	for _, seconds := range perChange(before.rounds, after.rounds, after.replicas) {
		cost.Pipeline += seconds
	}
	cost.Computed = perChange(before.computed, after.computed, after.replicas)
	cost.Sent = perChange(before.sent, after.sent, 1)
	cost.StatusWrites = perChange(before.writes, after.writes, 1)
	return cost
}

func perChange(before, after map[string]float64, replicas float64) map[string]float64 {
	each := map[string]float64{}
	for name, value := range after {
		if n := (value - before[name]) / costChanges / replicas; n != 0 {
			each[name] = n
		}
	}
	return each
}

// The kinds of changes.
const (
	routeAdded    = "route added"
	routeEdited   = "route edited"
	routeDeleted  = "route deleted"
	endpointMoved = "endpoint moved"
)

// costs makes changes of each kind. Each is waited for, so that none is done together with another.
func (s *scenario) costs(t *testing.T) map[string]figures.Cost {
	t.Helper()
	var probe figures.Probe
	routes := make([]*gwv1.HTTPRoute, costChanges)
	hosts := make([]string, costChanges)
	all := map[string]figures.Cost{}
	all[routeAdded] = s.cost(t, func(i int) {
		hosts[i] = fmt.Sprintf("cost-%02d.bench.example.com", i)
		routes[i] = live.HTTPRoute(fmt.Sprintf("cost-%02d", i), gatewayName, hosts[i], steadyService)
		routes[i].Namespace = s.of(i).Namespace
		s.ask.measure(t, appears(s.of(i).address, hosts[i]), &probe, func() error { return s.of(i).Create(t.Context(), routes[i]) })
	})
	all[routeEdited] = s.cost(t, func(i int) {
		edited := expectation{s.of(i).address, hosts[i], served, func(r reply) bool { return served(r) && len(r.Headers["X-Edited"]) > 0 }}
		before := routes[i].DeepCopy()
		routes[i].Spec.Rules[0].Filters = marked
		s.ask.measure(t, edited, &probe, func() error { return s.of(i).Patch(t.Context(), routes[i], client.MergeFrom(before)) })
	})
	all[routeDeleted] = s.cost(t, func(i int) {
		s.ask.measure(t, disappears(s.of(i).address, hosts[i]), &probe, func() error { return s.of(i).Delete(t.Context(), routes[i]) })
	})
	all[endpointMoved] = s.cost(t, func(i int) {
		s.moveEndpoint(t, s.of(i), &probe)
	})
	return all
}

// marked shows in what the backend echoes.
var marked = []gwv1.HTTPRouteFilter{{
	Type:                  gwv1.HTTPRouteFilterRequestHeaderModifier,
	RequestHeaderModifier: &gwv1.HTTPHeaderFilter{Set: []gwv1.HTTPHeader{{Name: "X-Edited", Value: "yes"}}},
}}

// moveEndpoint says how long it takes from the write of an EndpointSlice until the other pod answers.
func (s *scenario) moveEndpoint(t *testing.T, at *tenant, p *figures.Probe) time.Duration {
	t.Helper()
	from := at.moved.Endpoints[0].Addresses[0]
	to := s.other(from)
	e := expectation{at.address, movedHost, servedBy(s.other(to.Status.PodIP).Name), servedBy(to.Name)}
	return s.ask.measure(t, e, p, func() error { return s.move(t.Context(), at.Fixture, at.moved) })
}
