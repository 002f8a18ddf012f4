//go:build fault

package fault

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// programmedLimit is how long a route may take to become programmed, also while the controllers restart.
const programmedLimit = time.Minute

// awaitProgrammed waits until a route is programmed.
func (w *fixture) awaitProgrammed(ctx context.Context, route *gwv1.HTTPRoute) error {
	ctx, cancel := clock.WithTimeout(ctx, programmedLimit)
	defer cancel()
	for {
		status, reason, message, err := w.conditionOf(ctx, route, programmed)
		if err == nil && status == "True" {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("%s is %s, %s: %s", programmed, status, reason, message)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("route %s is not programmed within %s: %w", route.Name, programmedLimit, err)
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// serveAtOnce creates a route, waits until it is programmed, and asks for its host once.
func (w *fixture) serveAtOnce(ctx context.Context, address string, route *gwv1.HTTPRoute) error {
	route.Namespace = w.Namespace
	if err := w.Create(ctx, route); err != nil {
		return fmt.Errorf("create route %s: %w", route.Name, err)
	}
	if err := w.awaitProgrammed(ctx, route); err != nil {
		return err
	}
	if _, err := w.Request(ctx, address, string(route.Spec.Hostnames[0])); err != nil {
		return fmt.Errorf("route %s is programmed: %w", route.Name, err)
	}
	return nil
}

// burst creates numbered routes, eight at a time, and asks for each host as soon as its route is programmed. It returns the hosts, and how
// many were not answered.
func (w *fixture) burst(t *testing.T, gateway, address, prefix string, n int) (hosts []string, failed int) {
	t.Helper()
	routes := make([]*gwv1.HTTPRoute, n)
	hosts = make([]string, n)
	for i := range routes {
		name := fmt.Sprintf("%s-%04d", prefix, i)
		hosts[i] = name + ".burst.example.com"
		routes[i] = live.HTTPRoute(name, gateway, hosts[i], serviceName)
	}
	errs := inParallel(t.Context(), n, func(ctx context.Context, i int) error { return w.serveAtOnce(ctx, address, routes[i]) })
	reportSome(t, errs)
	return hosts, len(errs)
}

// unanswered counts the hosts that are not answered.
func (w *fixture) unanswered(t *testing.T, address string, hosts []string) int {
	t.Helper()
	errs := inParallel(t.Context(), len(hosts), func(ctx context.Context, i int) error {
		_, err := w.Request(ctx, address, hosts[i])
		return err
	})
	reportSome(t, errs)
	return len(errs)
}

// inParallel does numbered things, eight at a time, and returns what went wrong.
func inParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) []error {
	var next atomic.Int64
	var mu sync.Mutex
	var errs []error
	var group sync.WaitGroup
	for range live.Writers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return errs
}

// reportSome reports the first of many errors.
func reportSome(t *testing.T, errs []error) {
	t.Helper()
	for _, err := range errs[:min(len(errs), 10)] {
		t.Error(err)
	}
}

// askAll asks hosts in turn until it is stopped.
func askAll(t *testing.T, address string, rate int, hosts ...string) *load.Run {
	t.Helper()
	return load.Start(t.Context(), load.Plan{
		URL: "http://" + address + "/", Hosts: hosts,
		Rate: rate, Workers: rate * 5, Timeout: 5 * time.Second, MaxDuration: time.Hour,
	})
}

// TestBursts creates thousands of routes in bursts. Before some bursts all routes are deleted and more time passes than any timer of Envoy
// takes. Each host is asked as soon as its route is programmed, and all of them again before they go.
func TestBursts(t *testing.T) {
	t.Parallel()
	c := begin(t, "Bursts", "routes are created in bursts with pauses")
	w := newCatchAllFixture(t)
	w.removeRoutesAtEnd(t)
	address := w.catchAllGateway(t, gatewayName)
	seconds := []time.Duration{0, 5, 65, 1, 20, 80, 0, 130, 2, 10}
	if testing.Short() {
		seconds = []time.Duration{0, 1, 5}
	}
	size := amount(10_000, 300) / len(seconds)
	var hosts []string
	failed, lost := 0, 0
	for i, n := range seconds {
		pause := n * time.Second
		if pause > longestTimer {
			lost += w.unanswered(t, address, hosts)
			w.deleteHosts(t, gatewayName)
			hosts = nil
		}
		time.Sleep(pause)
		more, without := w.burst(t, gatewayName, address, fmt.Sprintf("burst-%02d", i), size)
		t.Logf("burst %d of %d routes after %s: %d not answered", i+1, size, pause, without)
		hosts, failed = append(hosts, more...), failed+without
	}
	lost += w.unanswered(t, address, hosts)
	c.note("%s routes in %d bursts", grouped(size*len(seconds)), len(seconds))
	c.none(failed, "not answered as soon as they were programmed")
	c.none(lost, "not answered later")
}
