//go:build fault

package fault

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// manyRoutes creates numbered routes, changed as a case wants them. They go before the case ends, so that the next one does not pay for it.
func (w *fixture) manyRoutes(t *testing.T, n int, change func(*gwv1.HTTPRoute)) {
	t.Helper()
	w.removeRoutesAtEnd(t)
	w.MakeMany(t, n, func(i int) client.Object {
		route := live.HTTPRoute(fmt.Sprintf("many-%05d", i), gatewayName, manyHost(i), serviceName)
		if change != nil {
			change(route)
		}
		return route
	})
	w.WaitServed(t, w.address, manyHost(n-1))
}

func manyHost(i int) string { return fmt.Sprintf("host-%05d.many.example.com", i) }

func (w *fixture) removeRoutesAtEnd(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		// The test's own context is over by now. The API server gives up after a minute, which is not enough for thousands on a busy machine.
		err := retry(context.Background(), 10*time.Minute, func() error {
			return w.DeleteAllOf(context.Background(), &gwv1.HTTPRoute{}, client.InNamespace(w.Namespace))
		})
		if err != nil {
			t.Errorf("delete the routes: %v", err)
		}
	})
}

// serveMore creates a route and returns how long it took from then until its host was answered.
func (w *fixture) serveMore(t *testing.T, name string) time.Duration {
	t.Helper()
	start := clock.Now()
	host := name + ".more.example.com"
	w.Route(t, name, gatewayName, host, serviceName)
	w.waitHost(t, w.address, host)
	return clock.Since(start)
}

// waitHost asks often, to measure.
func (w *fixture) waitHost(t *testing.T, address, host string) (before misses) {
	t.Helper()
	live.Eventually(t, time.Minute, 5*time.Millisecond, func(ctx context.Context) error {
		// A SYN that is lost is sent again after a second, which says nothing about the host.
		soon, cancel := clock.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, err := w.Request(soon, address, host)
		if err != nil {
			before.misses, before.err = before.misses+1, err
		}
		return err
	})
	return before
}

// misses are the requests that were not answered 200 before one was.
type misses struct {
	misses int
	// err is the last of them.
	err error
}

// slowestOf is the longest time that several more routes took, one after the other.
func (w *fixture) slowestOf(t *testing.T, n int, prefix string) time.Duration {
	t.Helper()
	var slowest time.Duration
	for i := range n {
		slowest = max(slowest, w.serveMore(t, fmt.Sprintf("%s-%d", prefix, i)))
	}
	return slowest
}

// edit changes a route, whatever its status has become meanwhile.
func (w *fixture) edit(t *testing.T, route *gwv1.HTTPRoute, change func(*gwv1.HTTPRoute)) {
	t.Helper()
	w.Edit(t, route, change)
}

// conditionOf is a condition that Gatewright wrote on a route.
func (w *fixture) conditionOf(ctx context.Context, route *gwv1.HTTPRoute, conditionType string) (
	status, reason, message string, err error,
) {
	if err := w.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
		return "", "", "", fmt.Errorf("get route %s: %w", route.Name, err)
	}
	for _, parent := range route.Status.Parents {
		for _, c := range parent.Conditions {
			if parent.ControllerName == live.ControllerName && c.Type == conditionType && c.ObservedGeneration == route.Generation {
				return string(c.Status), c.Reason, c.Message, nil
			}
		}
	}
	return "", "", "", fmt.Errorf(
		"route %s has no condition %s of its generation %d: %+v", route.Name, conditionType, route.Generation, route.Status,
	)
}
