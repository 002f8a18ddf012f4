//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestPreflightOfARuleWithAMethod asks what browsers ask before a request, of a rule with CORS and a method. A rule for OPTIONS of the
// user gets what it names, and a listener that has an authorization server asked about everything lets preflights pass, and nothing else.
func TestPreflightOfARuleWithAMethod(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.ServeHere(t, "deny", func(response http.ResponseWriter, _ *http.Request) { response.WriteHeader(http.StatusForbidden) })
	const open, own, closed = "open.cors.example.com", "own.cors.example.com", "closed.cors.example.com"
	address := w.Programmed(t, &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "gateway"},
		Spec: gwv1.GatewaySpec{GatewayClassName: live.GatewayClass, Listeners: []gwv1.Listener{
			{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType},
			{
				Name: "closed", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: new(gwv1.Hostname(closed)),
				Filters: &gwv1.ListenerFilters{Requests: []gwv1.ListenerFilter{{
					Type: gwv1.ListenerFilterExternalAuth, ExternalAuth: &gwv1.HTTPExternalAuthFilter{
						ExternalAuthProtocol: gwv1.HTTPRouteExternalAuthHTTPProtocol,
						BackendRef:           gwv1.BackendObjectReference{Name: "deny", Port: new(gwv1.PortNumber(80))},
						HTTPAuthConfig:       &gwv1.HTTPAuthConfig{},
					},
				}}},
			},
		}},
	})
	path := "/api"
	match := gwv1.HTTPRouteMatch{
		Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &path}, Method: new(gwv1.HTTPMethodPost),
	}
	for _, host := range []string{open, own, closed} {
		route := live.HTTPRoute("cors-"+host[:3], "gateway", host, "echo")
		route.Spec.Rules[0].Matches = []gwv1.HTTPRouteMatch{match}
		route.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
			Type: gwv1.HTTPRouteFilterCORS, CORS: &gwv1.HTTPCORSFilter{AllowOrigins: []gwv1.CORSOrigin{"https://app.example"}},
		}}
		if host == own {
			rule := *route.Spec.Rules[0].DeepCopy()
			rule.Filters, rule.Matches[0].Method = nil, new(gwv1.HTTPMethodOptions)
			route.Spec.Rules = append(route.Spec.Rules, rule)
		}
		w.Make(t, route)
	}
	for _, c := range []struct {
		host, method, asked string
		status              int
		allowed             string
	}{
		{open, "OPTIONS", "POST", http.StatusOK, "https://app.example"},
		{open, "OPTIONS", "PUT", http.StatusNotFound, ""},
		{open, "POST", "", http.StatusOK, "https://app.example"},
		{own, "OPTIONS", "POST", http.StatusOK, ""},
		{closed, "OPTIONS", "POST", http.StatusOK, "https://app.example"},
		{closed, "OPTIONS", "", http.StatusForbidden, ""},
		{closed, "POST", "", http.StatusForbidden, ""},
	} {
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			text := fmt.Sprintf("%s /api/x HTTP/1.1\nHost: %s\nConnection: close\nContent-Length: 0\nOrigin: https://app.example", c.method, c.host)
			if c.asked != "" {
				text += "\nAccess-Control-Request-Method: " + c.asked
			}
			answer, err := live.RawHTTP1(ctx, address+port80, nil, text)
			if allowed := answer.Header.Get("Access-Control-Allow-Origin"); err == nil && (answer.Status != c.status || allowed != c.allowed) {
				err = fmt.Errorf("%+v: answered %d, origin %q", c, answer.Status, allowed)
			}
			return err
		})
	}
}
