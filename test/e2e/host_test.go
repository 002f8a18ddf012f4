//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

const routeHeader = "X-Route"

// marked is a route that says in its answers which one it is.
func marked(name, host, path, service string) *gwv1.HTTPRoute {
	route := live.HTTPRoute(name, "hosts", host, service)
	if host == "" {
		route.Spec.Hostnames = nil
	}
	rule := &route.Spec.Rules[0]
	rule.Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &path}}}
	rule.Filters = append(rule.Filters, gwv1.HTTPRouteFilter{
		Type:                   gwv1.HTTPRouteFilterResponseHeaderModifier,
		ResponseHeaderModifier: &gwv1.HTTPHeaderFilter{Set: []gwv1.HTTPHeader{{Name: routeHeader, Value: name}}},
	})
	return route
}

// TestHosts: a host finds its route however it is spelled, whichever routes came before, and connections that were there before a change
// see it too.
func TestHosts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "hosts", 1)
	w.EchoService(t, "hosts")
	address := w.Gateway(t, "hosts")
	old := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: 5 * time.Second}
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}

	// served waits until every host is answered by the route that is to, over old and new connections.
	served := func(want map[string]string) {
		t.Helper()
		live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
			for target, route := range want {
				for kind, c := range map[string]*http.Client{"an old": old, "a new": fresh} {
					if got, err := answeredBy(ctx, c, address, target); err != nil || got != route {
						return fmt.Errorf("over %s connection, %s is answered by %q, want %q (%w)", kind, target, got, route, err)
					}
				}
			}
			return nil
		})
	}

	w.Make(t, marked("any", "", "/", "hosts"))
	served(map[string]string{"a.example.com": "any", "x.wild.example.com": "any"})

	exact := marked("exact", "a.example.com", "/here", "hosts")
	w.Make(t, exact, marked("wild", "*.wild.example.com", "/", "hosts"))
	served(map[string]string{
		"a.example.com/here": "exact", "A.Example.COM/here": "exact", "a.example.com:8080/here": "exact", "A.example.com:8080/here": "exact",
		"a.example.com/elsewhere": "any", "A.example.com/elsewhere": "any", "b.example.com/here": "any",
		"x.wild.example.com": "wild", "X.Wild.example.com:80": "wild", "x.y.wild.example.com": "wild", "wild.example.com": "any",
	})

	if err := w.Delete(t.Context(), exact); err != nil {
		t.Fatal(err)
	}
	served(map[string]string{"a.example.com/here": "any", "X.wild.example.com": "wild"})
}

// answeredBy asks for a host and path, and returns the route that answered.
func answeredBy(ctx context.Context, c *http.Client, address, target string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+target, http.NoBody)
	if err != nil {
		return "", err
	}
	request.Host, request.URL.Host = request.URL.Host, live.Host(address)
	response, err := c.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	// A connection is used again only when the answer was read to its end.
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return response.Status, nil
	}
	return response.Header.Get(routeHeader), nil
}
