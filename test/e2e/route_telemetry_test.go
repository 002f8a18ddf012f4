//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/live"
)

const routeTelemetry = `
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: described}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: route}]
  telemetry:
    tracing:
      tags: {tenant: "%REQ(x-tenant)%"}
      customTags: {tier: {literal: {value: gold}}, lane: {requestHeader: {name: x-lane, defaultValue: none}}}
      spanName: {server: "shop of %REQ(x-tenant)%"}
    metrics: {routeStatName: "%ROUTE_KIND%-%ROUTE_NAME%-counted"}
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: quiet}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: quiet}]
  telemetry: {tracing: {samplingFraction: {numerator: 0}}}`

// TestRouteTelemetry: of a Gateway whose requests become spans, a policy of a route changes what they say and how many there are, and has
// proxies count the requests of the route.
func TestRouteTelemetry(t *testing.T) {
	t.Parallel()
	const quietHost = "quiet.example.com"
	w := newFixture(t)
	w.needExperimental(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	spans := w.startCollector(t)
	address := w.Gateway(t, "gateway")
	w.Route(t, "route", "gateway", tracedHost, "echo")
	w.Route(t, "quiet", "gateway", quietHost, "echo")
	policy := telemetryPolicy("all")
	w.Make(t, policy)
	w.waitTelemetry(t, policy, "Accepted")
	w.makeYAML(t, routeTelemetry)
	w.policyProgrammed(t, "described", "quiet")

	var quiet []string
	for i := range 20 {
		m := fmt.Sprintf("quiet-%d", i)
		if _, err := w.ask(t.Context(), address, quietHost, "", map[string]string{marker: m}); err != nil {
			t.Fatal(err)
		}
		quiet = append(quiet, m)
	}
	m, err := w.mark(t.Context(), address, map[string]string{"X-Tenant": "blue"})
	if err != nil {
		t.Fatal(err)
	}
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(context.Context) error {
		s, ok := spans.get(m)
		if !ok {
			return fmt.Errorf("the span of request %s has not come", m)
		}
		a := s.GetAttributes()
		got := []string{s.GetName(), text(a, "tenant"), text(a, "tier"), text(a, "lane"), text(a, "env")}
		if want := "shop of blue|blue|gold|none|100%"; strings.Join(got, "|") != want {
			return fmt.Errorf("the span has %q, want %q", got, want)
		}
		return nil
	})
	// The span of a later request has come, so those of earlier ones would have.
	for _, m := range quiet {
		if _, ok := spans.get(m); ok {
			t.Errorf("request %s of a route without samples has a span", m)
		}
	}
	live.Eventually(t, time.Minute, time.Second, func(ctx context.Context) error {
		return counts(ctx, w.OneProxy(t, "gateway").Status.PodIP, "httproute_route_counted")
	})
}

// counts says whether a proxy has counted requests under that name, which is a part of the metric's name.
func counts(ctx context.Context, address, name string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, "19001")+"/metrics", http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("read the metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the metrics: %w", err)
	}
	for line := range strings.Lines(string(metrics)) {
		if strings.Contains(line, name+"_upstream_rq") && !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, " 0\n") {
			return nil
		}
	}
	return errors.New("no request is counted as " + name)
}
