//go:build fault

package fault

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestIdleStreams reads in the proxy's own dump for how long calls of a GRPCRoute may be idle: to wait that long is too long for a test.
func TestIdleStreams(t *testing.T) {
	t.Parallel()
	c := begin(t, "IdleStreams", "calls of a GRPCRoute that are idle")
	w := newFixture(t)
	w.Make(t, &gwv1.GRPCRoute{ObjectMeta: metav1.ObjectMeta{Name: "calls"}, Spec: gwv1.GRPCRouteSpec{
		CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: gatewayName}}},
		Hostnames:       []gwv1.Hostname{"idle.example.com"},
		Rules: []gwv1.GRPCRouteRule{{BackendRefs: []gwv1.GRPCBackendRef{{BackendRef: gwv1.BackendRef{
			BackendObjectReference: gwv1.BackendObjectReference{Name: serviceName, Port: new(gwv1.PortNumber(80))},
		}}}}},
	}})
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(context.Context) error {
		body := admin(t, w.OneProxy(t, gatewayName), "/config_dump")
		defer func() { _ = body.Close() }()
		dump, err := io.ReadAll(body)
		if err != nil {
			return fmt.Errorf("read the dump: %w", err)
		}
		// The name of a route stands behind what it does, and the match before that.
		before, _, found := strings.Cut(string(dump), `"GRPCRoute/`+w.Namespace+`/calls/`)
		route := before[max(strings.LastIndex(before, `"match"`), 0):]
		if !found || !strings.Contains(route, `"idle_timeout": "3600s"`) {
			return fmt.Errorf("the dump has no such route (found: %t), or it may not be idle for an hour: %.2000s", found, route)
		}
		return nil
	})
	c.note("1 h in the proxy's dump")
}
