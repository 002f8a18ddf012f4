//go:build fault

package fault

import (
	"fmt"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// TestCase43HostsAfterIdleTime leaves Gateways without a hostname for longer than any timer of Envoy takes, and then creates routes with
// hostnames: one, and many at once. Every host is answered as soon as its route is programmed, and from then on. So is the catch-all route
// beside them.
//
//nolint:paralleltest // it restarts the controllers
func TestCase43HostsAfterIdleTime(t *testing.T) { runIdleCase(t) }

func hostsAfterIdleTime(t *testing.T) {
	c := begin(t, "43", "routes with hostnames come after a pause without any")
	w := newCatchAllFixture(t)
	w.removeRoutesAtEnd(t)
	hold := span(5*time.Minute, time.Minute)
	parts := map[string]func(*testing.T){
		"one route after 80 s":    func(t *testing.T) { w.oneRouteAgain(t, c, "one", hostlessPause, hold) },
		"five times forty routes": func(t *testing.T) { w.fiveBursts(t, c, "forty", hold) },
	}
	if !testing.Short() {
		// The controllers restart during this pause, because of the bursts.
		parts["one route after 200 s"] = func(t *testing.T) { w.oneRouteAgain(t, c, "late", 200*time.Second, hold) }
		parts["two hundred routes after each of five gaps"] = func(t *testing.T) { w.gaps(t, c, "gaps") }
	}
	runConcurrently(t, parts)
}

// oneRouteAgain creates a route, deletes it, and creates it again after a pause.
func (w *fixture) oneRouteAgain(t *testing.T, c *faultCase, gateway string, pause, hold time.Duration) {
	t.Helper()
	address := w.catchAllGateway(t, gateway)
	host := gateway + ".again.example.com"
	catchAll := askAll(t, address, 10, anyHost)
	route := w.Route(t, gateway+"-host", gateway, host, serviceName)
	w.waitHost(t, address, host)
	time.Sleep(5 * time.Second)
	if err := w.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	time.Sleep(pause)
	if err := w.serveAtOnce(t.Context(), address, live.HTTPRoute(gateway+"-host", gateway, host, serviceName)); err != nil {
		t.Errorf("after %s: %v", pause, err)
	}
	again := askAll(t, address, 10, host)
	time.Sleep(hold)
	c.answers(fmt.Sprintf("host that came back after %s", pause), again.Stop())
	c.answers("catch-all beside it", catchAll.Stop())
	c.none(w.Restarts(t, gateway), "proxy restarts")
}

// fiveBursts creates forty routes at once, five times. The stream is cut in the pause before them, and between bursts the stream is cut
// or the controllers restart. All hosts stay until the end.
func (w *fixture) fiveBursts(t *testing.T, c *faultCase, gateway string, hold time.Duration) {
	t.Helper()
	const rounds, routes = 5, 40
	address := w.catchAllGateway(t, gateway)
	proxy := w.OneProxy(t, gateway)
	w.Route(t, gateway+"-first", gateway, "first.example.com", serviceName)
	w.waitHost(t, address, "first.example.com")
	w.deleteHosts(t, gateway)
	time.Sleep(hostlessPause / 2)
	cutStream(t, proxy)
	time.Sleep(hostlessPause / 2)

	runs := []*load.Run{askAll(t, address, 10, anyHost)}
	failed := 0
	between := map[int]func(){
		1: func() { cutStream(t, proxy) },
		2: func() { c.note("controllers back after %s", rounded(w.restartControllers(t, gateway))) },
		3: func() { time.Sleep(5 * time.Second) },
	}
	for round := range rounds {
		hosts, without := w.burst(t, gateway, address, fmt.Sprintf("%s-%d", gateway, round), routes)
		failed += without
		runs = append(runs, askAll(t, address, routes/2, hosts...))
		if next := between[round]; next != nil {
			next()
		}
	}
	time.Sleep(hold)
	c.exactly(rounds*routes-failed, "hosts of bursts answered as soon as they were programmed", rounds*routes)
	sum := load.Result{Failures: map[string]int{}}
	for _, run := range runs {
		add(&sum, run.Stop())
	}
	c.answers("hosts of bursts, and the catch-all", sum)
}

// add sums up what became of requests.
func add(sum *load.Result, result load.Result) {
	sum.Sent += result.Sent
	sum.Slowest = max(sum.Slowest, result.Slowest)
	for reason, n := range result.Failures {
		sum.Failures[reason] += n
	}
}

// gaps creates two hundred routes after each of several gaps without any, asks for them again three seconds later, and deletes them.
func (w *fixture) gaps(t *testing.T, c *faultCase, gateway string) {
	t.Helper()
	const routes = 200
	address := w.catchAllGateway(t, gateway)
	for round, gap := range []time.Duration{time.Second, 20 * time.Second, 65 * time.Second, 65 * time.Second, 130 * time.Second} {
		time.Sleep(gap)
		hosts, failed := w.burst(t, gateway, address, fmt.Sprintf("%s-%d", gateway, round), routes)
		time.Sleep(3 * time.Second)
		missing := w.unanswered(t, address, hosts)
		c.none(failed+missing, fmt.Sprintf("of %d hosts missing after a gap of %s", routes, gap))
		if missing > 0 {
			time.Sleep(20 * time.Second)
			c.note("%d of them still 20 s later", w.unanswered(t, address, hosts))
		}
		w.deleteHosts(t, gateway)
	}
	if _, err := w.Request(t.Context(), address, anyHost); err != nil {
		t.Errorf("the catch-all beside them: %v", err)
	}
}
