//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

const forwardedHost = "forwarded.example.com"

// TestClientAddress: backends learn the address of the client and the scheme from the proxy, whatever the client says about them.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.Make(t, live.TLSSecret(t, "server", forwardedHost))
	gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "gateway"}, Spec: gwv1.GatewaySpec{
		GatewayClassName: live.GatewayClass,
		Listeners: []gwv1.Listener{
			{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType},
			{
				Name: "https", Port: 443, Protocol: gwv1.HTTPSProtocolType,
				TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: "server"}}},
			},
		},
	}}
	address := w.Programmed(t, gateway)
	w.Route(t, "route", "gateway", forwardedHost, "echo")
	w.WaitServed(t, address, forwardedHost)

	lies := map[string]string{
		"Forwarded": "for=192.0.2.60;proto=https;host=liar", "X-Forwarded-For": "192.0.2.60, 192.0.2.61", "X-Forwarded-Proto": "gopher",
		"X-Forwarded-Host": "liar", "X-Forwarded-Port": "7", "X-Forwarded-Prefix": "/liar", "X-Forwarded-Client-Cert": "Hash=liar",
		"X-Envoy-External-Address": "192.0.2.60", "X-Envoy-Internal": "true", "X-Real-Ip": "192.0.2.60",
	}
	for scheme, port := range map[string]string{"http": "80", "https": "443"} {
		honest, _, err := echoHeaders(t.Context(), scheme, net.JoinHostPort(address, port), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"X-Forwarded-For": honest["X-Forwarded-For"], "X-Forwarded-Proto": scheme,
			"X-Envoy-External-Address": honest["X-Forwarded-For"],
			// Documented: proxies neither read it nor remove it.
			"X-Real-Ip": "192.0.2.60",
		}
		lying, _, err := echoHeaders(t.Context(), scheme, net.JoinHostPort(address, port), lies)
		if net.ParseIP(honest["X-Forwarded-For"]) == nil || err != nil {
			t.Fatalf("the client's address is %q: %v", honest["X-Forwarded-For"], err)
		}
		for _, name := range slices.Sorted(maps.Keys(lies)) {
			if lying[name] != want[name] {
				t.Errorf("%s: %s arrives as %q, want %q", scheme, name, lying[name], want[name])
			}
		}
	}
}

// TestRequestIdentity: each request has a new identity, which the client, the backend and the access log are told. What Envoys tell
// each other of a request passes in neither direction, and the access log has the path that the client asked for.
func TestRequestIdentity(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.ServeHere(t, "here", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Envoy-Upstream-Service-Time", "7")
		rw.Header().Set("X-Envoy-Decorator-Operation", "secret")
		_ = json.NewEncoder(rw).Encode(map[string]any{"pod": r.URL.Path, "headers": r.Header})
	})
	address := w.Gateway(t, "gateway")
	route := live.HTTPRoute("route", "gateway", forwardedHost, "here")
	route.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
		Type: gwv1.HTTPRouteFilterURLRewrite,
		URLRewrite: &gwv1.HTTPURLRewriteFilter{Path: &gwv1.HTTPPathModifier{
			Type: gwv1.FullPathHTTPPathModifier, ReplaceFullPath: new("/inside"),
		}},
	}}
	w.Make(t, route)
	w.WaitServed(t, address, forwardedHost)

	got, answer, err := echoHeaders(t.Context(), "http", net.JoinHostPort(address, "80"), map[string]string{
		"X-Request-Id": "chosen-by-the-client", "X-Envoy-Original-Path": "/spoofed", "X-Envoy-Upstream-Rq-Timeout-Ms": "1",
		"X-Envoy-Attempt-Count": "9", "X-Envoy-Expected-Rq-Timeout-Ms": "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	identity := answer.Get("X-Request-Id")
	if identity == "" || identity == "chosen-by-the-client" || identity != got["X-Request-Id"] {
		t.Errorf("the client is told %q and the backend %q", identity, got["X-Request-Id"])
	}
	if got["X-Envoy-Original-Path"] != "/" || got["X-Envoy-Attempt-Count"] != "" || got["X-Envoy-Expected-Rq-Timeout-Ms"] != "" {
		t.Errorf("the backend is told %v", got)
	}
	for name := range answer {
		if strings.HasPrefix(name, "X-Envoy-") {
			t.Errorf("the client is told %s", name)
		}
	}
	proxy := w.OneProxy(t, "gateway")
	live.Eventually(t, 30*time.Second, 500*time.Millisecond, func(ctx context.Context) error {
		written, err := w.written(ctx, proxy)
		if err != nil {
			return err
		}
		for line := range strings.Lines(written) {
			if strings.Contains(line, identity) {
				return so("the log has the client's path", strings.Contains(line, `"path":"/"`))
			}
		}
		return fmt.Errorf("no line of the access log has %s", identity)
	})
}

// TestExternalTrafficPolicy: the Service of a fleet spreads connections over all proxies, unless its ProxyConfig asks for the client's
// address.
func TestExternalTrafficPolicy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gateway, config := live.GatewayWith("policy", v1alpha1.ProxyConfigSpec{})
	w.Make(t, config)
	w.Programmed(t, gateway)
	const spread, local = corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal
	for _, want := range []corev1.ServiceExternalTrafficPolicy{spread, local} {
		if want == local {
			w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) { s.Service = &v1alpha1.Service{ExternalTrafficPolicy: &want} })
		}
		live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
			var services corev1.ServiceList
			if err := w.List(ctx, &services, client.InNamespace(w.Namespace)); err != nil {
				return fmt.Errorf("list Services: %w", err)
			}
			for i := range services.Items {
				if got := services.Items[i].Spec.ExternalTrafficPolicy; got != want {
					return fmt.Errorf("the Service %s has the policy %q, want %q", services.Items[i].Name, got, want)
				}
			}
			return so("there is a Service", len(services.Items) > 0)
		})
	}
}

// echoHeaders sends a request with headers, and returns those that the backend got, and those of the answer.
func echoHeaders(ctx context.Context, scheme, at string, headers map[string]string) (map[string]string, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+at+"/", http.NoBody)
	if err != nil {
		return nil, nil, fmt.Errorf("make a request: %w", err)
	}
	request.Host = forwardedHost
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{ServerName: forwardedHost, InsecureSkipVerify: true}, //nolint:gosec // this is about headers
	}
	response, err := (&http.Client{Timeout: 5 * time.Second, Transport: transport}).Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("answered %s %q: %w", response.Status, body, err)
	}
	var answer live.Answer
	if err := answer.Read(body); err != nil {
		return nil, nil, err
	}
	got := map[string]string{}
	for name, values := range answer.Headers {
		got[name] = strings.Join(values, ", ")
	}
	return got, response.Header, nil
}
