//go:build fault

package fault

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

const (
	// longestTimer is the longest that Envoy waits for anything here: it drains a filter chain for 60 s.
	longestTimer = time.Minute
	// hostlessPause is longer than that.
	hostlessPause = 80 * time.Second
	// anyHost is one that only a catch-all route answers.
	anyHost = "any.example.com"
)

// newCatchAllFixture has no Gateway yet.
func newCatchAllFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{Fixture: live.New(t)}
	w.Echo(t, serviceName, 2)
	w.EchoService(t, serviceName)
	return w
}

// catchAllGateway makes a Gateway with a route without hostnames, and returns its address once that is served.
func (w *fixture) catchAllGateway(t *testing.T, name string) string {
	t.Helper()
	address := w.Gateway(t, name)
	w.Make(t, catchAll(name+"-catch-all", name))
	w.WaitServed(t, address, anyHost)
	return address
}

// catchAll is a route without hostnames.
func catchAll(name, gateway string) *gwv1.HTTPRoute {
	route := live.HTTPRoute(name, gateway, anyHost, serviceName)
	route.Spec.Hostnames = nil
	return route
}

// deleteHosts deletes every route with a hostname of a Gateway, and returns when none is left.
func (w *fixture) deleteHosts(t *testing.T, gateway string) {
	t.Helper()
	live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		var routes gwv1.HTTPRouteList
		if err := w.List(ctx, &routes, client.InNamespace(w.Namespace)); err != nil {
			return fmt.Errorf("list routes: %w", err)
		}
		var hosted []gwv1.HTTPRoute
		for i := range routes.Items {
			spec := &routes.Items[i].Spec
			if len(spec.Hostnames) > 0 && string(spec.ParentRefs[0].Name) == gateway {
				hosted = append(hosted, routes.Items[i])
			}
		}
		errs := inParallel(ctx, len(hosted), func(ctx context.Context, i int) error {
			return client.IgnoreNotFound(w.Delete(ctx, &hosted[i]))
		})
		if len(hosted) > 0 {
			return fmt.Errorf("%d routes are left: %v", len(hosted), errs)
		}
		return nil
	})
}

// restartControllers replaces every controller while no case measures a time.
func (w *fixture) restartControllers(t *testing.T, proxies ...string) time.Duration {
	t.Helper()
	calm.Lock()
	defer calm.Unlock()
	took := w.RestartControllers(t)
	for _, gateway := range proxies {
		w.waitConnected(t, w.OneProxy(t, gateway))
	}
	return took
}

// namespaced gives objects the namespace of the test.
func (w *fixture) namespaced(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.Namespace, Name: name}
}
