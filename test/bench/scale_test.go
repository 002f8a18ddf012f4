//go:build bench

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/bench/figures"
	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// settle is the pause between two measurements.
const settle = 30 * time.Millisecond

// TestScale measures with more and more routes in place.
//
//nolint:paralleltest // it measures times
func TestScale(t *testing.T) {
	run := open(t)
	s := newScenario(t, *gateways)
	l := newLimits(t, s)
	s.tenants[0].VariantServices(t, "echo")
	run.Date, run.Envoy, run.Controllers = time.Now().UTC().Truncate(time.Second), s.envoyImage(t), len(s.controllers(t))
	for _, n := range parseSizes(t) {
		point := run.Point(n, *gateways)
		if point.Complete {
			continue
		}
		*point = figures.Point{Routes: n, Gateways: *gateways}
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"create", func() { point.Fill = s.fill(t, n) }},
			{"limits", func() { l.fill(t) }},
			{"memory", func() { point.Memory = s.memory(t) }},
			{"probe, idle, and limits", func() { s.probeIdle(t, l, point) }},
			{"probe, loaded", func() { s.probeLoaded(t, point) }},
			{"edit", func() { point.Edit = s.editUnderLoad(t, n) }},
			{"costs", func() { point.Costs = s.costs(t) }},
		} {
			progress("%s routes: %s", figures.Grouped(n), step.name)
			step.do()
			save(t, run)
		}
		point.Complete = true
		save(t, run)
		show(run, *gateways)
	}
}

func (s *scenario) memory(t *testing.T) figures.Memory {
	t.Helper()
	return figures.Memory{
		Controllers:  live.UsageOf(t, s.controllers(t)).Memory,
		Proxies:      live.UsageOf(t, s.proxies(t)).Memory,
		ProxiesEmpty: s.empty.Memory,
	}
}

// probeIdle takes every time in turn, so that whatever disturbs the machine disturbs all of them alike.
func (s *scenario) probeIdle(t *testing.T, l *limits, p *figures.Point) {
	t.Helper()
	shown := time.Now()
	for i := range *samples {
		if time.Since(shown) > showEvery {
			progress("%d of %d", i, *samples)
			shown = time.Now()
		}
		for _, measure := range []func(){
			func() { p.Limits.WatchRoute.Add(l.watchRoute(t, i)) },
			func() { p.Limits.EngineRoute.Add(l.engineRoute(t, i)) },
			func() { s.probe(t, fmt.Sprintf("probe-%04d", i), i, &p.Idle) },
			func() { p.Limits.WatchEndpoint.Add(l.watchEndpoint(t)) },
			func() { p.Limits.EngineEndpoint.Add(l.engineEndpoint(t)) },
			func() { p.Endpoint.Times.Add(s.moveEndpoint(t, s.of(i), &p.Endpoint)) },
		} {
			measure()
			time.Sleep(settle)
		}
	}
}

// probe creates one more route, and removes it again.
func (s *scenario) probe(t *testing.T, name string, i int, p *figures.Probe) {
	t.Helper()
	at, host := s.of(i), name+".bench.example.com"
	route := live.HTTPRoute(name, gatewayName, host, steadyService)
	route.Namespace = at.Namespace
	watched := s.watcher.expect(func(o client.Object) bool {
		r, ok := o.(*gwv1.HTTPRoute)
		return ok && r.Namespace == at.Namespace && r.Name == name
	})
	start, written := time.Now(), time.Duration(0)
	cores := clock.Now()
	took := s.ask.measure(t, appears(at.address, host), p, func() error {
		defer func() { written = time.Since(start) }()
		return at.Create(t.Context(), route)
	})
	p.Times.Add(took)
	p.AddSlow(figures.Parts(took, written, (<-watched).Sub(start), p.Longest, clock.Stolen(cores)))
	s.ask.measure(t, disappears(at.address, host), p, func() error { return at.Delete(t.Context(), route) })
}

// probeLoaded probes while others change routes and endpoints.
func (s *scenario) probeLoaded(t *testing.T, p *figures.Point) {
	t.Helper()
	stop := s.churn(t)
	for i := range *samples {
		s.probe(t, fmt.Sprintf("loaded-%04d", i), i, &p.Loaded)
		time.Sleep(settle)
	}
	stop()
}

// churn changes something every second: a route comes, one is edited, one goes, and an endpoint moves.
func (s *scenario) churn(t *testing.T) (stop func()) {
	t.Helper()
	n, last := 0, (*gwv1.HTTPRoute)(nil)
	stopped := every(time.Second, func() {
		at := s.tenants[0]
		route := live.HTTPRoute(fmt.Sprintf("churn-%05d", n), gatewayName, fmt.Sprintf("churn-%05d.bench.example.com", n), churnService)
		route.Namespace = at.Namespace
		errs := []error{at.Create(t.Context(), route), s.mark(t.Context(), n%s.routes, n), s.move(t.Context(), at.Fixture, at.churned)}
		if last != nil {
			errs = append(errs, at.Delete(t.Context(), last))
		}
		for _, err := range errs {
			if err != nil {
				t.Errorf("change something: %v", err)
			}
		}
		n, last = n+1, route
	})
	return func() {
		stopped()
		if last != nil {
			if err := s.tenants[0].Delete(t.Context(), last); err != nil {
				t.Errorf("delete the last route: %v", err)
			}
		}
	}
}

// mark edits one of the many routes.
func (s *scenario) mark(ctx context.Context, i, mark int) error {
	before := s.route(i)
	after := before.DeepCopy()
	after.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
		Type:                  gwv1.HTTPRouteFilterRequestHeaderModifier,
		RequestHeaderModifier: &gwv1.HTTPHeaderFilter{Set: []gwv1.HTTPHeader{{Name: "X-Edited", Value: fmt.Sprint(mark)}}},
	}}
	if err := s.of(i).Patch(ctx, after, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("edit route %s: %w", after.Name, err)
	}
	return nil
}

// editPause is what a change is given to arrive in before the next: short enough that some overlap.
const editPause = 100 * time.Millisecond

// editUnderLoad edits one live route again and again, while requests are sent to it.
func (s *scenario) editUnderLoad(t *testing.T, routes int) figures.Edit {
	t.Helper()
	at := s.tenants[0]
	const host = "edited.bench.example.com"
	route := at.Route(t, "edited", gatewayName, host, live.VariantService)
	at.WaitServed(t, at.address, host)
	e := figures.Edit{Edits: *edits}
	if routes != *editsAt {
		e.Edits = *edits / 6
	}
	running := load.Start(t.Context(), load.Plan{
		URL: "http://" + at.address + "/", Host: host,
		Rate: 200, Workers: 200 * 5, Timeout: 5 * time.Second, MaxDuration: 15 * time.Minute,
	})
	for i := range e.Edits {
		at.Edit(t, route, func(route *gwv1.HTTPRoute) { route.Spec.Rules = live.Variant(i) })
		time.Sleep(editPause)
	}
	result := running.Stop()
	e.Requests, e.Failures = result.Sent, result.Failures
	if err := at.Delete(t.Context(), route); err != nil {
		t.Fatalf("delete the edited route: %v", err)
	}
	s.waitAttached(t)
	return e
}
