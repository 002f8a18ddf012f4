//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// rejected is the number of routes that a proxy rejects: one more than a Gateway serves a last known good version of.
const rejected = 257

// TestCase59ManyRoutesRejected adds a proxy to a fleet that rejects many routes, each on a host of its own. Each reports it in Envoy's
// words. That proxy answers errors for them, the other one serves them, and every other route becomes programmed as before, also after a
// new proxy of this kind has started. A route of another namespace on the host of such a route stays programmed, and is served at that
// proxy too. When those proxies are gone, the routes are programmed, though nothing else changes.
func TestCase59ManyRoutesRejected(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	c := begin(t, "59", "257 routes that an outdated proxy rejects")
	w := newFixture(t)
	w.removeRoutesAtEnd(t)
	current, strict := w.OneProxy(t, gatewayName), w.strictProxy(t, "strict")
	run := w.startLoad(t, steadyHost)
	c.took(w.programmedAt(t, "before", strict), "before: a route is programmed after", limit)

	start := clock.Now()
	w.MakeMany(t, rejected, func(i int) client.Object {
		route := live.HTTPRoute(rejectedName(i), gatewayName, rejectedHost(i), serviceName)
		matchPath(route, "/([a-z]{500})?")
		return route
	})
	c.took(w.programmedAt(t, "during", strict), "while they are created: a route is programmed after", 5*time.Second)
	w.waitRejected(t, "report it", func(conditions []metav1.Condition) bool { return reports(conditions, "program size") })
	c.note("all %d report it after %s", rejected, rounded(clock.Since(start)))
	c.took(w.programmedAt(t, "after", strict), "then: a route is programmed after", limit)
	w.waitEach(t, strict, http.StatusInternalServerError)
	w.waitEach(t, current, http.StatusOK)
	c.note("each answers 500 at that proxy, and 200 at the other")
	w.checkNeighbour(t, current, strict)
	c.note("what begins as an expression does answers 500 there, and the route of another namespace on that host 200")

	fresh := w.strictProxy(t, "fresh")
	w.waitEach(t, fresh, http.StatusInternalServerError)
	c.took(w.programmedAt(t, "fresh", fresh), "at another new proxy of this kind: after", limit)

	start = clock.Now()
	for _, proxy := range []*corev1.Pod{strict, fresh} {
		if err := w.Delete(t.Context(), proxy, client.GracePeriodSeconds(1)); err != nil {
			t.Fatal(err)
		}
	}
	w.waitRejected(t, "are programmed", func(conditions []metav1.Condition) bool {
		return meta.IsStatusConditionTrue(conditions, programmed)
	})
	c.note("both are deleted, and nothing else changes: all are programmed after %s", rounded(clock.Since(start)))
	last := w.strictProxy(t, "last")
	w.waitEach(t, last, http.StatusInternalServerError)

	var routes gwv1.HTTPRouteList
	if err := w.List(t.Context(), &routes, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range routes.Items {
		if strings.HasPrefix(routes.Items[i].Name, "rejected-") {
			w.edit(t, &routes.Items[i], func(route *gwv1.HTTPRoute) { matchPath(route, "/") })
		}
	}
	w.waitEach(t, last, http.StatusOK)
	w.waitEach(t, current, http.StatusOK)
	c.note("corrected: each answers 200 at every proxy")
	c.load(run.Stop())
}

// checkNeighbour creates a route that a proxy rejects, on a host of another namespace. The proxy answers errors for what begins as its
// expression does. All else goes on, and reports nothing.
func (w *fixture) checkNeighbour(t *testing.T, current, strict *corev1.Pod) {
	t.Helper()
	const host = "neighbour.example.com"
	w.editGateway(t, gatewayName, func(gateway *gwv1.Gateway) {
		gateway.Spec.Listeners[0].AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: new(gwv1.NamespacesFromAll)}}
	})
	neighbour := live.New(t)
	neighbour.Echo(t, serviceName, 1)
	neighbour.EchoService(t, serviceName)
	theirs := live.HTTPRoute("theirs", gatewayName, host, serviceName)
	theirs.Spec.ParentRefs[0].Namespace = new(gwv1.Namespace(w.Namespace))
	neighbour.Make(t, theirs)
	for _, proxy := range []*corev1.Pod{current, strict} {
		w.waitStatus(t, proxy.Status.PodIP, host, "/", http.StatusOK)
	}
	if err := w.awaitProgrammed(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}

	ours := live.HTTPRoute("ours", gatewayName, host, serviceName)
	matchPath(ours, "/only/[a-z]{500}")
	w.Make(t, ours)
	goesOn := func(ctx context.Context) {
		if _, err := w.Request(ctx, strict.Status.PodIP, host); err != nil {
			t.Errorf("at the proxy that rejects another route of the host: %v", err)
		}
		if status, _, message, err := w.conditionOf(ctx, theirs, programmed); err != nil || status != "True" {
			t.Errorf("the route of the other namespace: %s is %s: %s, %v", programmed, status, message, err)
		}
	}
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		goesOn(ctx)
		_, _, message, err := w.conditionOf(ctx, ours, programmed)
		if err == nil && !strings.Contains(message, "all that begin alike, are answered 500") {
			err = fmt.Errorf("the route reports %q", message)
		}
		return err
	})
	for _, path := range []string{"/only/x", "/only/" + strings.Repeat("x", 500)} {
		w.waitStatus(t, strict.Status.PodIP, host, path, http.StatusInternalServerError)
		w.waitStatus(t, current.Status.PodIP, host, path, http.StatusOK)
	}
	for range 20 {
		goesOn(t.Context())
		time.Sleep(100 * time.Millisecond)
	}
}

func rejectedName(i int) string { return fmt.Sprintf("rejected-%03d", i) }

func rejectedHost(i int) string { return rejectedName(i) + ".example.com" }

// programmedAt creates a route and returns how long it took until a proxy served it and it was programmed.
func (w *fixture) programmedAt(t *testing.T, name string, proxy *corev1.Pod) time.Duration {
	t.Helper()
	start := clock.Now()
	route := live.HTTPRoute(name, gatewayName, name+".more.example.com", serviceName)
	w.Make(t, route)
	w.waitHost(t, proxy.Status.PodIP, name+".more.example.com")
	if err := w.awaitProgrammed(t.Context(), route); err != nil {
		t.Error(err)
	}
	return clock.Since(start)
}

// waitRejected waits until something is so of each of these routes.
func (w *fixture) waitRejected(t *testing.T, what string, is func([]metav1.Condition) bool) {
	t.Helper()
	live.Eventually(t, 5*time.Minute, time.Second, func(ctx context.Context) error {
		var routes gwv1.HTTPRouteList
		if err := w.List(ctx, &routes, client.InNamespace(w.Namespace)); err != nil {
			return fmt.Errorf("list routes: %w", err)
		}
		found, other := 0, ""
		for i := range routes.Items {
			switch route := &routes.Items[i]; {
			case !strings.HasPrefix(route.Name, "rejected-"):
			case is(conditionsOf(route)):
				found++
			default:
				other = fmt.Sprintf("%s: %+v", route.Name, conditionsOf(route))
			}
		}
		if found != rejected {
			return fmt.Errorf("%d of %d routes %s; one that does not is %s", found, rejected, what, other)
		}
		return nil
	})
}

// waitEach waits until a proxy answers each of the rejected hosts with a status.
func (w *fixture) waitEach(t *testing.T, proxy *corev1.Pod, status int) {
	t.Helper()
	for i := range rejected {
		w.waitStatus(t, proxy.Status.PodIP, rejectedHost(i), "/", status)
	}
}
