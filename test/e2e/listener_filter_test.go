//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

const checkedHost, freeHost = "checked.filter.example.com", "free.filter.example.com"

// TestListenerFilters has a listener ask two servers about every request before a route is chosen: the first says who the caller is, the
// second sees that and adds to it, and the route is chosen by what they say. Another listener of the same port asks no server.
func TestListenerFilters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	for _, name := range []string{"ali", "zoe"} {
		w.Echo(t, name, 1)
		w.EchoService(t, name)
	}
	stop := w.ServeHere(t, "identity", func(response http.ResponseWriter, request *http.Request) {
		user := request.Header.Get("Authorization")
		if user == "" {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		response.Header().Set("X-User", user)
		response.Header().Set("X-Steps", "identity")
		// The host has chosen the listener: this must not count.
		response.Header().Set("Host", freeHost)
	})
	var asked atomic.Int32
	w.ServeHere(t, "audit", func(response http.ResponseWriter, request *http.Request) {
		asked.Add(1)
		response.Header().Set("X-Steps", request.Header.Get("X-Steps")+" audit")
	})
	address := w.filteredGateway(t)
	for _, user := range []string{"ali", "zoe"} {
		route := live.HTTPRoute(user, "filtered", checkedHost, user)
		route.Spec.Hostnames = []gwv1.Hostname{checkedHost, freeHost}
		route.Spec.Rules[0].Matches = []gwv1.HTTPRouteMatch{{Headers: []gwv1.HTTPHeaderMatch{{Name: "X-User", Value: user}}}}
		w.Make(t, route)
	}
	expect := func(what, host string, headers map[string]string, status int, backend, steps string) {
		t.Helper()
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			r, err := w.ask(ctx, address, host, "", headers)
			if err != nil {
				return err
			}
			got := fmt.Sprint(r.status, " ", backendOf(r.Pod), " ", r.Headers["X-Steps"])
			if want := fmt.Sprint(status, " ", backend, " ", steps); got != want {
				return fmt.Errorf("%s: %s, want %s", what, got, want)
			}
			return nil
		})
	}
	expect("ali is known", checkedHost, map[string]string{"Authorization": "ali"}, http.StatusOK, "ali", "[identity audit]")
	expect("zoe is known", checkedHost, map[string]string{"Authorization": "zoe"}, http.StatusOK, "zoe", "[identity audit]")
	expect("what a caller says of itself does not count", checkedHost, map[string]string{
		"Authorization": "zoe", "X-User": "ali",
	}, http.StatusOK, "zoe", "[identity audit]")
	expect("another user finds no route", checkedHost, map[string]string{"Authorization": "eve"}, http.StatusNotFound, "", "[]")
	expect(
		"a host in capitals is the same host", strings.ToUpper(checkedHost), map[string]string{"Authorization": "zoe"}, http.StatusOK,
		"zoe", "[identity audit]",
	)
	expect("and lets no request pass", strings.ToUpper(checkedHost), map[string]string{"X-User": "ali"}, http.StatusUnauthorized, "", "[]")
	expect("the other listener asks no server", freeHost, map[string]string{"X-User": "ali"}, http.StatusOK, "ali", "[]")
	asked.Store(0)
	expect("a request without a user is rejected at once", checkedHost, nil, http.StatusUnauthorized, "", "[]")
	if asked.Load() != 0 {
		t.Error("a filter ran behind one that refused the request")
	}
	stop()
	expect(
		"no request passes without a server to ask", checkedHost, map[string]string{"Authorization": "ali"}, http.StatusServiceUnavailable,
		"", "[]",
	)
	w.breakFilter(t)
	expect(
		"no request passes when there is no such server", checkedHost, map[string]string{"Authorization": "ali"},
		http.StatusInternalServerError, "", "[]",
	)
	expect("the other listener goes on", freeHost, map[string]string{"X-User": "zoe"}, http.StatusOK, "zoe", "[]")
}

func backendOf(pod string) string {
	for _, name := range []string{"ali", "zoe"} {
		if len(pod) > len(name) && pod[:len(name)] == name {
			return name
		}
	}
	return pod
}

func (w *fixture) filteredGateway(t *testing.T) string {
	t.Helper()
	ask := func(name gwv1.ObjectName, headers ...string) gwv1.ListenerFilter {
		return gwv1.ListenerFilter{Type: gwv1.ListenerFilterExternalAuth, ExternalAuth: &gwv1.HTTPExternalAuthFilter{
			ExternalAuthProtocol: gwv1.HTTPRouteExternalAuthHTTPProtocol,
			BackendRef:           gwv1.BackendObjectReference{Name: name, Port: new(gwv1.PortNumber(80))},
			HTTPAuthConfig:       &gwv1.HTTPAuthConfig{AllowedRequestHeaders: headers},
		}}
	}
	return w.Programmed(t, &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "filtered"},
		Spec: gwv1.GatewaySpec{GatewayClassName: live.GatewayClass, Listeners: []gwv1.Listener{
			{
				Name: "checked", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: new(gwv1.Hostname(checkedHost)),
				Filters: &gwv1.ListenerFilters{Requests: []gwv1.ListenerFilter{ask("identity"), ask("audit", "X-Steps")}},
			},
			{Name: "free", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: new(gwv1.Hostname(freeHost))},
		}},
	})
}

// breakFilter has the first filter ask a Service that does not exist, and waits until the listener says so.
func (w *fixture) breakFilter(t *testing.T) {
	t.Helper()
	gateway := &gwv1.Gateway{}
	key := client.ObjectKey{Namespace: w.Namespace, Name: "filtered"}
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, key, gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		gateway.Spec.Listeners[0].Filters.Requests[0].ExternalAuth.BackendRef.Name = "none"
		return w.Update(ctx, gateway)
	})
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, key, gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		for _, l := range gateway.Status.Listeners {
			c := meta.FindStatusCondition(l.Conditions, string(gwv1.ListenerConditionResolvedRefs))
			if l.Name == "checked" && c != nil && c.Reason == "InvalidListenerFilterRef" {
				return nil
			}
		}
		return fmt.Errorf("the listener does not say that its filter cannot be asked: %+v", gateway.Status.Listeners)
	})
}
