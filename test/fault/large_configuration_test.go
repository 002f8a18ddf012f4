//go:build fault

package fault

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestCase20LargeConfiguration gives a proxy more than gRPC carries unless told otherwise, which is 4 MiB: it converges, also after its
// stream was cut, and a new proxy that gets everything at once converges too.
//
//nolint:paralleltest // it keeps all controllers busy, and others measure times
func TestCase20LargeConfiguration(t *testing.T) {
	const (
		routes  = 330
		size    = 4 << 20
		headers = 14
		limit   = 5 * time.Second
	)
	c := begin(t, "20", "a configuration larger than 4 MiB")
	w := newFixture(t)
	run := w.startLoad(t, steadyHost)
	w.manyRoutes(t, routes, func(route *gwv1.HTTPRoute) {
		filter := &gwv1.HTTPHeaderFilter{}
		for i := range headers {
			filter.Set = append(filter.Set, gwv1.HTTPHeader{
				Name: gwv1.HTTPHeaderName(fmt.Sprintf("X-Large-%d", i)), Value: strings.Repeat("x", 1000),
			})
		}
		route.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: filter}}
	})
	proxy := w.OneProxy(t, gatewayName)
	got := configurationSize(t, proxy)
	if got <= size {
		t.Fatalf("the configuration has %d bytes, which shows nothing", got)
	}
	c.note("%.1f MiB", float64(got)/(1<<20))
	c.took(w.serveMore(t, "one"), "one more route after", limit)
	cutStream(t, proxy)
	c.took(w.serveMore(t, "two"), "after a cut", limit)
	_, fresh := w.NewProxy(t, gatewayName, manyHost(routes-1))
	// A pod takes about three seconds to start, whatever it is then told.
	c.took(fresh, "a new proxy serves after", 2*limit)
	c.load(run.Stop())
	c.none(nacks(t, proxy), "NACKs of the proxy")
}
