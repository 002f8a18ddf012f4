//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/test/live"
)

const (
	tenantsHost = "tenants.example.com"
	// costlyRoutes have more instructions together than a hostname has room for. One has as many as a route may have, about 48,000.
	costlyRoutes, costlyMatches = 11, 12
	// guardLimit bounds what is waited for, and guardPeriod is how long answers are watched after a change.
	guardLimit, guardPeriod = 3 * time.Minute, 10 * time.Second
)

// TestNoTenantOpensTheGuardOfAnother has two tenants share a hostname. One serves all its paths, and has a server refuse the requests of
// two of them: the first from the start, the second after the other tenant has exceeded a limit of the hostname with expensive expressions.
func TestNoTenantOpensTheGuardOfAnother(t *testing.T) {
	t.Parallel()
	owner, tenant := newFixture(t), newFixture(t)
	owner.needExperimental(t)
	for _, w := range []*fixture{owner, tenant} {
		w.Echo(t, "echo", 1)
		w.EchoService(t, "echo")
	}
	owner.authServer(t, "auth", gwv1.HTTPRouteExternalAuthHTTPProtocol)
	gateway := live.GatewayOf("gateway")
	gateway.Spec.Listeners[0].AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: new(gwv1.NamespacesFromAll)}}
	address := owner.Programmed(t, gateway)
	owner.Route(t, "site", "gateway", tenantsHost, "echo")
	owner.WaitServed(t, address, tenantsHost)
	watch(t, address, tenantsHost, "/", http.StatusOK)
	owner.guard(t, address, "/admin")

	routes := tenant.makeCostlyRoutes(t, owner.Namespace)
	first, last := routes[0], routes[costlyRoutes-1]
	tenant.waitRoute(t, last, metav1.ConditionFalse, "limits hostRules, hostExpressions and hostBytes")
	tenant.waitRoute(t, first, metav1.ConditionTrue, "")
	waitStatus(t, address, tenantsHost, costlyPath(0), http.StatusOK)
	waitStatus(t, address, tenantsHost, costlyPath(costlyRoutes-1), http.StatusInternalServerError)

	// Ages have whole seconds. What is made now is the youngest, which a limit meets first.
	time.Sleep(time.Until(last.CreationTimestamp.Add(2 * time.Second)))
	owner.guard(t, address, "/private")
	time.Sleep(guardPeriod)

	if err := tenant.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	tenant.waitRoute(t, last, metav1.ConditionTrue, "")
	waitStatus(t, address, tenantsHost, costlyPath(costlyRoutes-1), http.StatusOK)
	time.Sleep(guardPeriod)
}

// guard makes a route for a path whose requests the authorization server refuses. Once they are refused, they have to be until the end.
func (w *fixture) guard(t *testing.T, address, path string) {
	t.Helper()
	route := live.HTTPRoute("guard-"+strings.TrimPrefix(path, "/"), "gateway", tenantsHost, "echo")
	route.Spec.Rules[0].Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &path}}}
	route.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
		Type: gwv1.HTTPRouteFilterExternalAuth, ExternalAuth: &gwv1.HTTPExternalAuthFilter{
			ExternalAuthProtocol: gwv1.HTTPRouteExternalAuthHTTPProtocol,
			BackendRef:           gwv1.BackendObjectReference{Name: "auth", Port: new(gwv1.PortNumber(80))},
			HTTPAuthConfig:       &gwv1.HTTPAuthConfig{Path: "/check"},
		},
	}}
	w.Make(t, route)
	w.waitRoute(t, route, metav1.ConditionTrue, "")
	waitStatus(t, address, tenantsHost, path, http.StatusUnauthorized)
	watch(t, address, tenantsHost, path, http.StatusUnauthorized)
}

// makeCostlyRoutes makes routes for the hostname at the Gateway of another namespace, the youngest last.
func (w *fixture) makeCostlyRoutes(t *testing.T, namespace string) []*gwv1.HTTPRoute {
	t.Helper()
	var routes []*gwv1.HTTPRoute
	for i := range costlyRoutes {
		route := live.HTTPRoute(fmt.Sprintf("costly-%02d", i), "gateway", tenantsHost, "echo")
		route.Spec.ParentRefs[0].Namespace = new(gwv1.Namespace(namespace))
		for m := range costlyMatches {
			route.Spec.Rules[0].Matches = append(route.Spec.Rules[0].Matches, gwv1.HTTPRouteMatch{Path: &gwv1.HTTPPathMatch{
				Type:  new(gwv1.PathMatchRegularExpression),
				Value: new(fmt.Sprintf("/costly-%02d/%d/a{1000}b{1000}c{1000}d{1000}", i, m)),
			}})
		}
		w.Make(t, route)
		routes = append(routes, route)
	}
	return routes
}

// costlyPath is a path that the first expression of such a route matches.
func costlyPath(route int) string {
	path := fmt.Sprintf("/costly-%02d/0/", route)
	for _, letter := range []string{"a", "b", "c", "d"} {
		path += strings.Repeat(letter, 1000)
	}
	return path
}

// waitRoute waits until a route says that proxies serve it, or why not.
func (w *fixture) waitRoute(t *testing.T, route *gwv1.HTTPRoute, state metav1.ConditionStatus, words string) {
	t.Helper()
	live.Eventually(t, guardLimit, 200*time.Millisecond, func(ctx context.Context) error {
		c, err := w.said(ctx, route, outcome.RouteProgrammed)
		if err == nil && (c.Status != state || !strings.Contains(c.Message, words)) {
			err = fmt.Errorf("route %s: Programmed is %s: %s; want %s with %q", route.Name, c.Status, c.Message, state, words)
		}
		return err
	})
}

// TestAListenerThatIsNotServedKeepsItsHostname adds a listener for one hostname, with a filter that nothing serves, beside a wider one. No
// request for the hostname is served by the wider listener from then on.
func TestAListenerThatIsNotServedKeepsItsHostname(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	const host, other = "admin.listeners.example.com", "other.listeners.example.com"
	wide := live.GatewayOf("gateway")
	wide.Spec.Listeners[0].Hostname = new(gwv1.Hostname("*.listeners.example.com"))
	address := w.Programmed(t, wide)
	route := live.HTTPRoute("route", "gateway", host, "echo")
	route.Spec.Hostnames = nil
	w.Make(t, route)
	waitStatus(t, address, host, "/", http.StatusOK)
	waitStatus(t, address, other, "/", http.StatusOK)
	watch(t, address, other, "/", http.StatusOK)

	w.setListeners(t, wide, wide.Spec.Listeners[0], gwv1.Listener{
		Name: "admin", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: new(gwv1.Hostname(host)),
		Filters: &gwv1.ListenerFilters{Requests: []gwv1.ListenerFilter{{
			Type: gwv1.ListenerFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{Group: "gatewright.dev", Kind: "Login", Name: "login"},
		}}},
	})
	w.waitListener(t, wide, metav1.ConditionFalse, string(gwv1.ListenerReasonUnsupportedValue),
		`Login login in group "gatewright.dev", which is not served; remove it; until then requests for its hostname are answered 500`)
	waitStatus(t, address, host, "/", http.StatusInternalServerError)
	stop := watch(t, address, host, "/", http.StatusInternalServerError)
	for _, spelled := range []string{strings.ToUpper(host), host + ".", host + ":80"} {
		if _, err := get(t.Context(), address, spelled, "/", http.StatusInternalServerError); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(guardPeriod)
	stop()

	served := wide.Spec.Listeners[1]
	served.Filters = nil
	w.setListeners(t, wide, wide.Spec.Listeners[0], served)
	w.waitListener(t, wide, metav1.ConditionTrue, string(gwv1.ListenerReasonAccepted), "")
	waitStatus(t, address, host, "/", http.StatusOK)
}

// setListeners replaces the listeners of a Gateway.
func (w *fixture) setListeners(t *testing.T, gateway *gwv1.Gateway, listeners ...gwv1.Listener) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(gateway), gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		gateway.Spec.Listeners = listeners
		return w.Update(ctx, gateway)
	})
}

// waitListener waits until the second listener of a Gateway is accepted in its present generation, or says why not.
func (w *fixture) waitListener(t *testing.T, gateway *gwv1.Gateway, state metav1.ConditionStatus, reason, words string) {
	t.Helper()
	name, generation := gateway.Spec.Listeners[1].Name, gateway.Generation
	live.Eventually(t, guardLimit, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(gateway), gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		for _, l := range gateway.Status.Listeners {
			c := meta.FindStatusCondition(l.Conditions, string(gwv1.ListenerConditionAccepted))
			if l.Name == name && c != nil && c.Status == state && c.Reason == reason && strings.Contains(c.Message, words) &&
				c.ObservedGeneration >= generation {
				return nil
			}
		}
		return fmt.Errorf("listener %s does not say %s %s %q: %+v", name, state, reason, words, gateway.Status.Listeners)
	})
}

// waitStatus waits until a path of a host is answered with a status, and all threads of the proxy had time to take it.
func waitStatus(t *testing.T, address, host, path string, want int) {
	t.Helper()
	live.Eventually(t, guardLimit, 100*time.Millisecond, func(ctx context.Context) error {
		_, err := get(ctx, address, host, path, want)
		return err
	})
	time.Sleep(time.Second)
}

// watch asks for a path of a host again and again, until it is stopped or the test ends. Each answer has to have that status.
func watch(t *testing.T, address, host, path string, want int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		asked := 0
		for ; ctx.Err() == nil; asked++ {
			if _, err := get(ctx, address, host, path, want); err != nil && ctx.Err() == nil {
				t.Errorf("request %d: %v", asked, err)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("%s%s is answered %d, %d times", host, path, want, asked)
	})
	stop = func() {
		cancel()
		group.Wait()
	}
	t.Cleanup(stop)
	return stop
}
