//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// What one bad object may cost the others.
const (
	othersLimit = time.Second
	others      = 5
)

// TestCase11InvalidRegex has a route with an expression that does not compile.
func TestCase11InvalidRegex(t *testing.T) {
	t.Parallel()
	c := begin(t, "11", "an invalid regex in one route")
	w := newFixture(t)
	w.rejected(t, c, func(route *gwv1.HTTPRoute) { matchPath(route, "/broken[") }, "/broken[")
}

// TestCase12RegexTooLarge has a route with an expression that Envoy would refuse for its size.
func TestCase12RegexTooLarge(t *testing.T) {
	t.Parallel()
	c := begin(t, "12", "a regex too large for Envoy")
	w := newFixture(t)
	large := "/" + strings.Repeat("a{1000}", 100)
	w.rejected(t, c, func(route *gwv1.HTTPRoute) { matchPath(route, large) }, "too large")
}

// TestCase13InvalidHeaderFilter has a route that removes the Host header, and one with a value that Envoy would take for a format.
func TestCase13InvalidHeaderFilter(t *testing.T) {
	t.Parallel()
	c := begin(t, "13", "a filter that Envoy would refuse")
	w := newFixture(t)
	bad := w.rejected(t, c, removeHost, "Host")

	fixed := clock.Now()
	w.edit(t, bad, func(route *gwv1.HTTPRoute) { route.Spec.Rules[0].Filters = nil })
	w.waitHost(t, w.address, badHost)
	c.took(clock.Since(fixed), "recovered after", othersLimit)

	for i, value := range []string{"%BOGUS(%", "100%", "%REQ(:path)%", "%%"} {
		host := fmt.Sprintf("literal-%d.example.com", i)
		route := live.HTTPRoute(fmt.Sprintf("literal-%d", i), gatewayName, host, serviceName)
		setHeader(route, "X-Literal", value)
		start := clock.Now()
		w.Make(t, route)
		w.waitHost(t, w.address, host)
		c.took(clock.Since(start), fmt.Sprintf("%q served after", value), othersLimit)
		answer, err := w.Request(t.Context(), w.address, host)
		if got := answer.Headers["X-Literal"]; err != nil || len(got) != 1 || got[0] != value {
			t.Errorf("the backend saw %q, %v; want %q", got, err, value)
		}
	}
	c.none(nacks(t, w.OneProxy(t, gatewayName)), "NACKs of the proxy in all")
}

const badHost = "bad.example.com"

// rejected creates a route that cannot be served, and checks that its condition says so with some words, that the proxy refused nothing,
// and that the others did not notice.
func (w *fixture) rejected(t *testing.T, c *faultCase, spoil func(*gwv1.HTTPRoute), words string) *gwv1.HTTPRoute {
	t.Helper()
	run := w.startLoad(t, steadyHost)
	bad := live.HTTPRoute("bad", gatewayName, badHost, serviceName)
	spoil(bad)
	start := clock.Now()
	w.Make(t, bad)
	live.Eventually(t, time.Minute, 10*time.Millisecond, func(ctx context.Context) error {
		status, _, message, err := w.conditionOf(ctx, bad, string(gwv1.RouteConditionAccepted))
		if err == nil && (status != "False" || !strings.Contains(message, words)) {
			err = fmt.Errorf("Accepted is %s: %s", status, message)
		}
		return err
	})
	c.note("told on the route after %s", rounded(clock.Since(start)))
	c.took(w.slowestOf(t, others, "other"), "others updated within", othersLimit)
	if r := w.status(t, badHost); r == http.StatusOK {
		t.Errorf("a route that is not accepted is answered %d", r)
	}
	c.load(run.Stop())
	c.none(nacks(t, w.OneProxy(t, gatewayName)), "NACKs of the proxy")
	return bad
}

func (w *fixture) status(t *testing.T, host string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.address+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := w.HTTP.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}

func matchPath(route *gwv1.HTTPRoute, expression string) {
	route.Spec.Rules[0].Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{
		Type: new(gwv1.PathMatchRegularExpression), Value: &expression,
	}}}
}

// removeHost is what Envoy would refuse.
func removeHost(route *gwv1.HTTPRoute) {
	route.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
		Type:                  gwv1.HTTPRouteFilterRequestHeaderModifier,
		RequestHeaderModifier: &gwv1.HTTPHeaderFilter{Remove: []string{"Host"}},
	}}
}

func setHeader(route *gwv1.HTTPRoute, name, value string) {
	route.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
		Type:                  gwv1.HTTPRouteFilterRequestHeaderModifier,
		RequestHeaderModifier: &gwv1.HTTPHeaderFilter{Set: []gwv1.HTTPHeader{{Name: gwv1.HTTPHeaderName(name), Value: value}}},
	}}
}
