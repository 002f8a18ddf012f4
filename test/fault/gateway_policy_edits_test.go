//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase57GatewayPolicyEdits edits a policy of a Gateway that is in effect for all of its routes, again and again, under load and beside
// connections that stay open. It measures what an edit sends to a proxy, and how long it takes until every host has it.
//
//nolint:paralleltest // on two cores thousands of routes are all that is measured
func TestCase57GatewayPolicyEdits(t *testing.T) {
	c := begin(t, "57", "a policy of a Gateway with many routes is edited")
	w := newFixture(t)
	routes, edits := amount(10_000, 1000), amount(10, 5)
	host := func(i int) string { return fmt.Sprintf("host-%d.policy.example.com", i) }
	w.removeRoutesAtEnd(t)
	w.MakeMany(t, routes, func(i int) client.Object {
		return live.HTTPRoute(fmt.Sprintf("host-%d", i), gatewayName, host(i), serviceName)
	})
	w.Make(t, gatewayLimit(gatewayName, 1))
	asked := []string{host(0), host(routes / 3), host(routes / 2), host(routes - 1)}
	w.waitLimit(t, asked, 1)
	// What was under way has arrived by then.
	time.Sleep(3 * time.Second)

	proxy := w.OneProxy(t, gatewayName)
	before := stats(t, proxy)
	run := w.startLoad(t, steadyHost)
	slowest := time.Duration(0)
	for edit := 2; edit < 2+edits; edit++ {
		start := clock.Now()
		from, to := gatewayLimit(gatewayName, edit-1), gatewayLimit(gatewayName, edit)
		to.Namespace = w.Namespace
		if err := w.Patch(t.Context(), to, client.MergeFrom(from)); err != nil {
			t.Fatalf("edit the policy: %v", err)
		}
		w.waitLimit(t, asked, edit)
		slowest = max(slowest, clock.Since(start))
	}
	c.note("%s routes, %d edits", grouped(routes), edits)
	c.took(slowest, "in effect after", span(10*time.Second, 5*time.Second))
	// Envoy has closed by then what it drains.
	time.Sleep(span(longestTimer+10*time.Second, 10*time.Second))
	after := stats(t, proxy)
	const received = "cluster.gatewright-xds.upstream_cx_rx_bytes_total"
	c.note("%s KiB to the proxy for an edit", grouped((after[received]-before[received])/edits/1024))
	changed := 0
	for _, name := range []string{"listener_added", "listener_modified", "listener_in_place_updated", "listener_removed"} {
		changed += after["listener_manager."+name] - before["listener_manager."+name]
	}
	c.none(changed, "changes of listeners")
	rejected := 0
	for name, count := range after {
		if strings.HasSuffix(name, ".update_rejected") {
			rejected += count - before[name]
		}
	}
	c.none(rejected, "updates rejected")
	c.load(run.Stop())
}

// gatewayLimit is a limit that no test reaches. Its number is what responses show.
func gatewayLimit(gateway string, edit int) *v1alpha1.BackendTrafficPolicy {
	return &v1alpha1.BackendTrafficPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec: v1alpha1.BackendTrafficPolicySpec{
			PolicyTargets: v1alpha1.PolicyTargets{TargetRefs: []gwv1.LocalPolicyTargetReferenceWithSectionName{{
				LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{Group: gwv1.GroupName, Kind: "Gateway", Name: gwv1.ObjectName(gateway)},
			}}},
			RateLimit: &v1alpha1.RateLimit{Local: &v1alpha1.LocalRateLimit{Rules: []v1alpha1.RateLimitRule{{
				Limit:             v1alpha1.RateLimitValue{Requests: limitOf(edit), Unit: "Second"},
				XRateLimitHeaders: new("DraftVersion03"),
			}}}},
		},
	}
}

func limitOf(edit int) int64 { return 1_000_000 + int64(edit) }

// waitLimit waits until responses of all these hosts show the limit of an edit.
func (w *fixture) waitLimit(t *testing.T, hosts []string, edit int) {
	t.Helper()
	want := fmt.Sprint(limitOf(edit))
	live.Eventually(t, 2*time.Minute, 5*time.Millisecond, func(ctx context.Context) error {
		for _, host := range hosts {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+live.Host(w.address)+"/", http.NoBody)
			if err != nil {
				return fmt.Errorf("make a request: %w", err)
			}
			request.Host = host
			response, err := w.HTTP.Do(request)
			if err != nil {
				return fmt.Errorf("ask for %s: %w", host, err)
			}
			_ = response.Body.Close()
			if got := response.Header.Get("X-Ratelimit-Limit"); !strings.HasPrefix(got, want) {
				return fmt.Errorf("%s answers %s with limit %q, want %s", host, response.Status, got, want)
			}
		}
		return nil
	})
}
