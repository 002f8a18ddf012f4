//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase58RoutesOfManyBytes creates routes that are small as objects, and would be half a gigabyte each for proxies: what their filters
// have is repeated for each match of each hostname. They answer errors and say why, and nothing else notices. They come three times.
//
//nolint:paralleltest // it looks at the memory of controllers and proxies
func TestCase58RoutesOfManyBytes(t *testing.T) {
	const (
		times, together = 3, 3
		// mostGrown is how many times the memory that was needed before is needed with them.
		mostGrown = 1.3
	)
	c := begin(t, "58", "routes whose filters are repeated for 128 matches of 16 hostnames")
	w := newFixture(t)
	w.removeRoutesAtEnd(t)
	hosts := make([]string, amount(5000, 1000))
	for i := range hosts {
		hosts[i] = fmt.Sprintf("beside-%05d.example.com", i)
	}
	w.MakeMany(t, len(hosts), func(i int) client.Object {
		return live.HTTPRoute(fmt.Sprintf("beside-%05d", i), gatewayName, hosts[i], serviceName)
	})
	w.WaitServed(t, w.address, hosts[len(hosts)-1])
	// What was under way has arrived by then.
	time.Sleep(5 * time.Second)
	restarted := w.controllerRestarts(t)
	controllers, proxies := w.leastMemory(t)
	run := askAll(t, w.address, 200, hosts...)
	slowest := time.Duration(0)
	for round := range times {
		var routes []*gwv1.HTTPRoute
		for number := range together {
			route := repetitive(fmt.Sprintf("bytes-%d", number))
			route.Namespace = w.Namespace
			routes = append(routes, route)
			if err := w.Create(t.Context(), route); err != nil {
				t.Fatal(err)
			}
		}
		for _, route := range routes {
			w.waitExceeded(t, route, "limit routeBytes")
			w.waitStatus(t, w.address, string(route.Spec.Hostnames[7]), "/b/1/63", http.StatusInternalServerError)
		}
		slowest = max(slowest, w.serveMore(t, fmt.Sprintf("later-%d", round)))
		nowControllers, nowProxies := w.leastMemory(t)
		for what, grew := range map[string]float64{
			"controllers": float64(nowControllers) / float64(controllers), "proxies": float64(nowProxies) / float64(proxies),
		} {
			c.note("memory of the %s %.2f × that without them", what, grew)
			if grew > mostGrown {
				c.exceeded("the %s take %.2f times the memory, the limit is %.1f", what, grew, mostGrown)
			}
		}
		for _, route := range routes {
			if err := w.Delete(t.Context(), route); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.note("%s hosts, %d times %d routes", grouped(len(hosts)), times, together)
	c.took(slowest, "a new route served after", 2*time.Second)
	c.load(run.Stop())
	c.none(w.controllerRestarts(t)-restarted, "restarts of controllers")
	c.none(w.Restarts(t, gatewayName), "proxy restarts")
}

// repetitive is a route of about 512 KiB: 16 hostnames, two rules of 64 matches, and in each 64 header values of 4,000 bytes.
func repetitive(name string) *gwv1.HTTPRoute {
	route := live.HTTPRoute(name, gatewayName, "", serviceName)
	backends := route.Spec.Rules[0].BackendRefs
	route.Spec.Hostnames, route.Spec.Rules = nil, nil
	for i := range 16 {
		route.Spec.Hostnames = append(route.Spec.Hostnames, gwv1.Hostname(fmt.Sprintf("b%d.%s.example.com", i, name)))
	}
	for number := range 2 {
		rule := gwv1.HTTPRouteRule{BackendRefs: backends}
		for match := range 64 {
			path := fmt.Sprintf("/b/%d/%d", number, match)
			rule.Matches = append(rule.Matches, gwv1.HTTPRouteMatch{
				Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &path},
			})
		}
		edit := &gwv1.HTTPHeaderFilter{}
		for i := range 16 {
			value := strings.Repeat("v", 4000)
			edit.Set = append(edit.Set, gwv1.HTTPHeader{Name: gwv1.HTTPHeaderName(fmt.Sprintf("x-set-%d-%d", number, i)), Value: value})
			edit.Add = append(edit.Add, gwv1.HTTPHeader{Name: gwv1.HTTPHeaderName(fmt.Sprintf("x-add-%d-%d", number, i)), Value: value})
		}
		rule.Filters = []gwv1.HTTPRouteFilter{
			{Type: gwv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: edit},
			{Type: gwv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: edit},
		}
		route.Spec.Rules = append(route.Spec.Rules, rule)
	}
	return route
}

// waitExceeded waits until a route is not accepted because of a limit, and names it.
func (w *fixture) waitExceeded(t *testing.T, route *gwv1.HTTPRoute, limit string) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		now := &gwv1.HTTPRoute{}
		if err := w.Get(ctx, client.ObjectKeyFromObject(route), now); err != nil {
			return fmt.Errorf("get %s: %w", route.Name, err)
		}
		for _, parent := range now.Status.Parents {
			accepted := meta.FindStatusCondition(parent.Conditions, string(gwv1.RouteConditionAccepted))
			if accepted != nil && strings.Contains(accepted.Message, limit) && strings.Contains(accepted.Message, route.Name+" takes ") {
				return nil
			}
		}
		return fmt.Errorf("%s reports no limit: %+v", route.Name, now.Status)
	})
}

// waitStatus waits until a path of a host is answered with a status at an address.
func (w *fixture) waitStatus(t *testing.T, address, host, path string, status int) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+live.Host(address)+path, http.NoBody)
		if err != nil {
			return fmt.Errorf("make a request: %w", err)
		}
		request.Host = host
		response, err := w.HTTP.Do(request)
		if err != nil {
			return fmt.Errorf("ask for %s%s: %w", host, path, err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status {
			return fmt.Errorf("%s%s answers %s, want %d", host, path, response.Status, status)
		}
		return nil
	})
}
