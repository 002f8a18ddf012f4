//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase45RouteWithManyMatches creates one route without hostnames and with as many matches as there may be beside thousands of
// hosts, and edits it. It costs what one route costs, and every host falls through to it.
//
//nolint:paralleltest // it counts what is sent to proxies
func TestCase45RouteWithManyMatches(t *testing.T) {
	const edits = 10
	c := begin(t, "45", "one route without hostnames and 128 matches beside many hosts")
	w := newFixture(t)
	w.removeRoutesAtEnd(t)
	hosts := make([]string, amount(10_000, 500))
	routes := make([]*gwv1.HTTPRoute, len(hosts))
	for i := range hosts {
		name := fmt.Sprintf("narrow-%05d", i)
		hosts[i] = name + ".example.com"
		routes[i] = live.HTTPRoute(name, gatewayName, hosts[i], serviceName)
		routes[i].Spec.Rules[0].Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchExact), Value: new("/")}}}
	}
	errs := inParallel(t.Context(), len(routes), func(ctx context.Context, i int) error { return w.serveAtOnce(ctx, w.address, routes[i]) })
	reportSome(t, errs)
	c.note("%s hosts", grouped(len(hosts)))
	controllers, proxies := w.leastMemory(t)

	wide := live.HTTPRoute("wide", gatewayName, "", serviceName)
	wide.Namespace, wide.Spec.Hostnames = w.Namespace, nil
	setWide(wide, 0)
	if err := w.Create(t.Context(), wide); err != nil {
		t.Fatal(err)
	}
	w.mustBeProgrammed(t, wide)
	most := 0
	for edit := range edits {
		before := w.sent(t)
		previous := wide.DeepCopy()
		setWide(wide, edit+1)
		if err := w.Patch(t.Context(), wide, client.MergeFrom(previous)); err != nil {
			t.Fatal(err)
		}
		w.mustBeProgrammed(t, wide)
		most = max(most, w.sent(t)-before)
	}
	c.note("an edit sends at most %d resources", most)
	if most >= 10 {
		t.Errorf("an edit of the wide route sends %d resources", most)
	}
	errs = inParallel(t.Context(), len(hosts), func(ctx context.Context, i int) error {
		return w.requestPath(ctx, w.address, hosts[i], fmt.Sprintf("/wide/1/63/%d", edits))
	})
	reportSome(t, errs)
	c.none(len(errs), "hosts that do not fall through to it")
	nowControllers, nowProxies := w.leastMemory(t)
	for what, grew := range map[string]float64{
		"controllers": float64(nowControllers) / float64(controllers), "proxies": float64(nowProxies) / float64(proxies),
	} {
		c.note("memory of the %s %.2f × that without it", what, grew)
		if grew >= 1.2 {
			c.exceeded("the %s take %.2f times the memory, the limit is 1.2", what, grew)
		}
	}
	c.none(w.Restarts(t, gatewayName), "proxy restarts")
}

// setWide gives a route 128 matches.
func setWide(route *gwv1.HTTPRoute, edit int) {
	rules := make([]gwv1.HTTPRouteRule, 2)
	for i := range rules {
		rules[i].BackendRefs = route.Spec.Rules[0].BackendRefs
		for j := range 64 {
			path := fmt.Sprintf("/wide/%d/%d/%d", i, j, edit)
			rules[i].Matches = append(rules[i].Matches, gwv1.HTTPRouteMatch{Path: &gwv1.HTTPPathMatch{
				Type: new(gwv1.PathMatchPathPrefix), Value: &path,
			}})
		}
	}
	route.Spec.Rules = rules
}

func (w *fixture) mustBeProgrammed(t *testing.T, route *gwv1.HTTPRoute) {
	t.Helper()
	if err := w.awaitProgrammed(t.Context(), route); err != nil {
		t.Fatal(err)
	}
}

// memory is what the controllers and the proxies take.
func (w *fixture) memory(t *testing.T) (controllers, proxies int64) {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own, err := w.Proxies(t.Context(), gatewayName)
	if err != nil {
		t.Fatal(err)
	}
	return live.UsageOf(t, pods).Memory, live.UsageOf(t, own).Memory
}

// leastMemory is the least of a while: what is there between two collections of garbage does not count.
func (w *fixture) leastMemory(t *testing.T) (controllers, proxies int64) {
	t.Helper()
	controllers, proxies = w.memory(t)
	for range 10 {
		time.Sleep(time.Second)
		c, p := w.memory(t)
		controllers, proxies = min(controllers, c), min(proxies, p)
	}
	return controllers, proxies
}

// sent is how many resources all proxies were sent.
func (w *fixture) sent(t *testing.T) int {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for i := range pods {
		metrics, err := live.ReadMetrics(t.Context(), &pods[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range metrics.By("gatewright_xds_resources_sent_total", "type") {
			total += n
		}
	}
	return int(total)
}

// requestPath asks a host for a path, which must be served.
func (w *fixture) requestPath(ctx context.Context, address, host, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+live.Host(address)+path, http.NoBody)
	if err != nil {
		return err
	}
	request.Host = host
	response, err := w.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s", host, path, response.Status)
	}
	return nil
}
