//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// limitedRoute is a route with that host. Its responses cost what their header X-Cost says.
func limitedRoute(name string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ` + name + `}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [` + name + `.example.com]
  rules:
    - filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Extension, name: usage}}]
      backendRefs: [{name: here, port: 80}]`
}

const globalLimits = `
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {name: usage}
spec:
  lua:
    - inline: |
        function envoy_on_response(handle)
          local cost = tonumber(handle:headers():get("x-cost"))
          if cost then handle:streamInfo():dynamicMetadata():set("usage", "tokens", cost) end
        end
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: limits}
spec:
  targetRefs:
    - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: one}
    - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: two}
  rateLimit:
    global:
      rules:
        - clientSelectors: [{headers: [{name: x-case, value: shared}]}]
          limit: {requests: 6, unit: Day}
          shared: true
          xRateLimitHeaders: DraftVersion03
        - clientSelectors: [{headers: [{name: x-case, value: own}]}, {headers: [{name: x-user, type: Distinct}]}]
          limit: {requests: 4, unit: Day}
        - clientSelectors: [{headers: [{name: x-case, value: shadow}]}]
          limit: {requests: 1, unit: Day}
          shadowMode: true
        - clientSelectors: [{headers: [{name: x-case, value: cost}]}]
          limit: {requests: 10, unit: Day}
          cost:
            request: {from: Number, number: 0}
            response: {from: Metadata, metadata: {namespace: usage, key: tokens}}
        - clientSelectors: [{headers: [{name: x-case, value: number}]}]
          limit: {requests: 10, unit: Day}
          cost: {request: {from: Number, number: 5}}
        - clientSelectors:
            - {path: {value: /limited}, methods: [{value: GET}], sourceCIDR: {value: 0.0.0.0/0}, queryParams: [{name: tier, value: free}]}
          limit: {requests: 3, unit: Day}
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: closed}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: closed}]
  rateLimit: {global: {rules: [{limit: {requests: 100000, unit: Day}}]}}
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: open}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: open}]
  rateLimit:
    global:
      rules:
        - limit: {requests: 100000, unit: Day}
        - clientSelectors: [{headers: [{name: x-case, value: last}]}]
          limit: {requests: 2, unit: Day}
          xRateLimitHeaders: DraftVersion03
      failOpen: true`

// TestGlobalRateLimit: two proxies share limits that the rate limit service counts in Redis. It also stops Redis.
//
//nolint:paralleltest // it stops the Redis that others use
func TestGlobalRateLimit(t *testing.T) {
	w := newFixture(t)
	w.needEnabled(t, "--rate-limits", "--extensions=lua")
	address := w.gatewayAt(t)
	w.ScaleProxies(t, "gateway", 2)
	w.WaitProxies(t, "gateway", 2)
	w.ServeHere(t, "here", func(response http.ResponseWriter, _ *http.Request) { response.Header().Set("X-Cost", "4") })
	for _, name := range []string{"one", "two", "closed", "open"} {
		w.makeYAML(t, limitedRoute(name))
	}
	w.makeYAML(t, globalLimits)
	w.policyProgrammed(t, "limits", "closed", "open")

	// passed sends requests, each by a connection of its own and so by either proxy, and counts those that pass.
	passed := func(count int, name, path string, headers ...string) int {
		t.Helper()
		ok := 0
		for range count {
			e, err := visit(t.Context(), address, name+".example.com", path, headers...)
			if err != nil || e.status != http.StatusOK && e.status != http.StatusTooManyRequests {
				t.Fatalf("%s %v: %d, %v", name, headers, e.status, err)
			}
			if e.status == http.StatusOK {
				ok++
			}
		}
		return ok
	}
	for _, c := range []struct {
		what, route, path string
		headers           []string
		want              int
	}{
		{"a shared limit", "one", "/", []string{"X-Case", "shared"}, 6},
		{"the same limit for another route", "two", "/", []string{"X-Case", "shared"}, 0},
		{"a limit of each route and user", "one", "/", []string{"X-Case", "own", "X-User", "ali"}, 4},
		{"the same for another user", "one", "/", []string{"X-Case", "own", "X-User", "eva"}, 4},
		{"the same for another route", "two", "/", []string{"X-Case", "own", "X-User", "ali"}, 4},
		{"a request that one of two selectors selects", "one", "/", []string{"X-Case", "own"}, 20},
		{"shadow mode", "one", "/", []string{"X-Case", "shadow"}, 20},
		{"requests that count five each", "one", "/", []string{"X-Case", "number"}, 2},
		{"path, method, address and parameter", "one", "/limited/a?tier=free", nil, 3},
		{"another parameter", "one", "/limited/a?tier=paid", nil, 20},
		{"another path", "one", "/limit?tier=free", nil, 20},
		{"a request that no rule is about", "one", "/", nil, 20},
	} {
		if got := passed(20, c.route, c.path, c.headers...); got != c.want {
			t.Errorf("%s: %d of 20 requests passed, want %d", c.what, got, c.want)
		}
	}
	w.expect(t, address, "one.example.com", []step{{
		"headers of a request beyond the limit", "/",
		[]string{"X-Case", "shared"},
		func(e exchange) string { return check(e.header.Get("X-RateLimit-Remaining"), "0") },
	}})
	// Three responses of 4 use up a limit of 10. The service learns of each when it is complete.
	before := 0
	live.Eventually(t, 30*time.Second, 300*time.Millisecond, func(context.Context) error {
		if passed(1, "one", "/", "X-Case", "cost") == 0 {
			return nil
		}
		before++
		return fmt.Errorf("%d requests passed", before)
	})
	if before < 3 || before > 6 {
		t.Errorf("%d requests passed before their responses had used up the limit, want 3", before)
	}
	w.restartRateLimits(t, address)
	w.stopRedis(t, address)
	w.countedAgain(t, address)
}

// countedAgain expects a limit of two after an outage. A connection of the service to the Redis that is gone may fail once more: such a
// request passes without the headers of a limit, because its policy says so, and is not counted.
func (w *fixture) countedAgain(t *testing.T, address string) {
	t.Helper()
	passed, rejected := 0, 0
	live.Eventually(t, time.Minute, time.Millisecond, func(ctx context.Context) error {
		e, err := visit(ctx, address, "open.example.com", "/", "X-Case", "last")
		switch {
		case err != nil:
			return fmt.Errorf("after the outage: %w", err)
		case e.status == http.StatusTooManyRequests:
			rejected++
		case e.header.Get("X-RateLimit-Limit") != "":
			passed++
		}
		if rejected < 20 {
			return fmt.Errorf("%d requests of 20 were rejected", rejected)
		}
		return nil
	})
	if passed != 2 {
		t.Errorf("after an outage %d requests passed that were counted, want 2", passed)
	}
}

// restartRateLimits replaces all pods of the rate limit service while there are requests. None of them fails.
func (w *fixture) restartRateLimits(t *testing.T, address string) {
	t.Helper()
	key := client.ObjectKey{Namespace: "gatewright-system", Name: "gatewright-ratelimit"}
	var service appsv1.Deployment
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, key, &service); err != nil {
			return fmt.Errorf("read the rate limit service: %w", err)
		}
		service.Spec.Template.Annotations = map[string]string{"restarted": time.Now().String()}
		return w.Update(ctx, &service)
	})
	sent, after := 0, 100
	live.Eventually(t, 2*time.Minute, time.Millisecond, func(ctx context.Context) error {
		start := clock.Now()
		e, err := visit(ctx, address, "closed.example.com", "/")
		// Proxies wait a second for the service. A second in which a core is stolen is no failure of the service.
		away := e.status == http.StatusServiceUnavailable && clock.Stolen(start) >= 400*time.Millisecond
		if sent++; err != nil || e.status != http.StatusOK && !away {
			t.Fatalf("request %d while the rate limit service restarts: %d, %v", sent, e.status, err)
		}
		if err := w.Get(ctx, key, &service); err != nil {
			return fmt.Errorf("read the rate limit service: %w", err)
		}
		status, terminating := service.Status, service.Status.TerminatingReplicas
		if status.ObservedGeneration < service.Generation || status.UpdatedReplicas < status.Replicas || status.ReadyReplicas < status.Replicas ||
			terminating != nil && *terminating > 0 {
			return errors.New("the pods are being replaced")
		}
		if after--; after > 0 {
			return errors.New("requests go on for a while")
		}
		return nil
	})
	t.Logf("%d requests while the rate limit service restarted, 0 failed", sent)
}

// stopRedis stops Redis and starts it again, and expects of each policy what it chooses.
func (w *fixture) stopRedis(t *testing.T, address string) {
	t.Helper()
	w.scaleRedis(t, 0)
	t.Cleanup(func() { w.scaleRedis(t, 1) })
	status := func(want int) func(exchange) string { return func(e exchange) string { return check(e.status, want) } }
	w.expect(t, address, "closed.example.com", []step{{"fail closed", "/", nil, status(http.StatusServiceUnavailable)}})
	w.expect(t, address, "open.example.com", []step{{"fail open", "/", nil, status(http.StatusOK)}})
	w.scaleRedis(t, 1)
	// So many in a row are asked of each pod of the service.
	live.Eventually(t, time.Minute, time.Second, func(ctx context.Context) error {
		for range 20 {
			if e, err := visit(ctx, address, "closed.example.com", "/"); err != nil || e.status != http.StatusOK {
				return fmt.Errorf("with Redis again: %d, %w", e.status, err)
			}
		}
		return nil
	})
}

// scaleRedis sets the number of pods of Redis, and waits for it.
func (w *fixture) scaleRedis(t *testing.T, replicas int32) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	key := client.ObjectKey{Namespace: "redis", Name: "redis"}
	var redis appsv1.Deployment
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(context.Context) error {
		if err := w.Get(ctx, key, &redis); err != nil {
			return fmt.Errorf("read Redis: %w", err)
		}
		redis.Spec.Replicas = &replicas
		return w.Update(ctx, &redis)
	})
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(context.Context) error {
		if err := w.Get(ctx, key, &redis); err != nil {
			return fmt.Errorf("read Redis: %w", err)
		}
		if redis.Status.ObservedGeneration < redis.Generation || redis.Status.ReadyReplicas != replicas || redis.Status.Replicas != replicas {
			return errors.New("the pods of Redis are not as they should be")
		}
		return nil
	})
}
