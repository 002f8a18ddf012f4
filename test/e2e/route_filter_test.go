//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/test/live"
)

// makeYAML makes objects of any kind, in the test's namespace.
func (w *fixture) makeYAML(t *testing.T, text string) {
	t.Helper()
	for part := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
			t.Fatalf("read an object: %v\n%s", err, part)
		}
		w.Make(t, object)
	}
}

// exchange is a request and what came of it.
type exchange struct {
	status int
	header http.Header
	body   string
	// seen is what the backend saw, if it answered.
	seen struct {
		Host    string              `json:"host"`
		Path    string              `json:"path"`
		Pod     string              `json:"pod"`
		Headers map[string][]string `json:"headers"`
	}
}

// visit asks for a path of a host.
func visit(ctx context.Context, address, host, path string, headers ...string) (exchange, error) {
	return send(ctx, http.MethodGet, address, host, path, http.NoBody, headers...)
}

// send sends a request by a connection of its own.
func send(ctx context.Context, method, address, host, path string, content io.Reader, headers ...string) (exchange, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+net.JoinHostPort(address, "80")+path, content)
	if err != nil {
		return exchange{}, fmt.Errorf("make a request: %w", err)
	}
	request.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{
		Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return exchange{}, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return exchange{status: response.StatusCode, header: response.Header}, nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return exchange{}, fmt.Errorf("read the answer: %w", err)
	}
	e := exchange{status: response.StatusCode, header: response.Header, body: string(body)}
	_ = json.Unmarshal(body, &e.seen)
	return e, nil
}

// gatewayAt makes a Gateway with one listener for HTTP and an echo server.
func (w *fixture) gatewayAt(t *testing.T) string {
	t.Helper()
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	return w.Programmed(t, &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "gateway"}, Spec: gwv1.GatewaySpec{
		GatewayClassName: live.GatewayClass,
		Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
	}})
}

// step is a request, and what is wrong with its answer.
type step struct {
	name, path string
	headers    []string
	wrong      func(exchange) string
}

func (w *fixture) expect(t *testing.T, address, host string, steps []step) {
	t.Helper()
	for _, s := range steps {
		live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
			e, err := visit(ctx, address, host, s.path, s.headers...)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if wrong := s.wrong(e); wrong != "" {
				return fmt.Errorf("%s: %s (%d %v %s)", s.name, wrong, e.status, e.header, e.body)
			}
			return nil
		})
	}
}

// check says what differs, in pairs of what is there and what should be.
func check(pairs ...any) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if fmt.Sprint(pairs[i]) != fmt.Sprint(pairs[i+1]) {
			return fmt.Sprintf("got %v, want %v", pairs[i], pairs[i+1])
		}
	}
	return ""
}

const routeFilters = `
apiVersion: gatewright.dev/v1alpha1
kind: HTTPRouteFilter
metadata: {name: closed}
spec:
  directResponse:
    statusCode: 503
    contentType: text/html
    body: {type: ValueRef, valueRef: {group: "", kind: ConfigMap, name: page}}
    header: {set: [{name: retry-after, value: "60"}], add: [{name: x-tenant, value: "%REQ(x-tenant)%"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data: {response.body: "<p style='width: 100%'>closed for %REQ(:authority)%</p>"}
---
apiVersion: gatewright.dev/v1alpha1
kind: HTTPRouteFilter
metadata: {name: rewrite}
spec:
  urlRewrite:
    hostname: {type: PathRegex, pathRegex: {pattern: "^/tenant/([a-z]+)/.*", substitution: '\1.example'}}
    path: {type: ReplaceRegexMatch, replaceRegexMatch: {pattern: "^/tenant/([a-z]+)(/.*)$", substitution: '\2/of/\1'}}
  requestHeaderModifier: {set: [{name: x-path, value: "was %REQ(:path)%"}], remove: [x-secret]}
---
apiVersion: gatewright.dev/v1alpha1
kind: HTTPRouteFilter
metadata: {name: from-header}
spec:
  urlRewrite: {hostname: {type: Header, header: x-host}, appendXForwardedHost: false}
---
apiVersion: gatewright.dev/v1alpha1
kind: HTTPRouteFilter
metadata: {name: canary}
spec:
  matches:
    - cookies: [{name: canary, value: always}]
    - cookies: [{name: group, type: RegularExpression, value: "beta-[0-9]+"}]
  responseHeaderModifier: {set: [{name: x-version, value: "canary %RESPONSE_CODE%"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
type: Opaque
stringData: {credential: "Bearer first\n"}
---
apiVersion: gatewright.dev/v1alpha1
kind: HTTPRouteFilter
metadata: {name: token}
spec:
  credentialInjection: {credential: {valueRef: {name: token}}}
---
apiVersion: gatewright.dev/v1alpha1
kind: HTTPRouteFilter
metadata: {name: no-token}
spec:
  credentialInjection: {credential: {valueRef: {name: no-token}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [filters.example.com]
  rules:
    - matches: [{path: {value: /closed}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: closed}}]
    - matches: [{path: {value: /tenant}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: rewrite}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /header}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: from-header}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /app}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: canary}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /app}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /missing}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: missing}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /token}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: token}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /no-token}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: no-token}}]
      backendRefs: [{name: echo, port: 80}]`

// TestHTTPRouteFilter: what a rule does beside the filters of the standard.
func TestHTTPRouteFilter(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	address := w.gatewayAt(t)
	w.makeYAML(t, routeFilters)
	w.expect(t, address, "filters.example.com", []step{
		{"a direct response", "/closed", []string{"x-tenant", "a"}, func(e exchange) string {
			return check(e.status, 503, e.header.Get("Content-Type"), "text/html", e.header.Get("Retry-After"), "60",
				e.header.Get("X-Tenant"), "a", e.body, "<p style='width: 100%'>closed for filters.example.com</p>")
		}},
		{"host and path by expressions", "/tenant/blue/cart?x=1", []string{"x-secret", "s"}, func(e exchange) string {
			return check(e.status, 200, e.seen.Host, "blue.example", e.seen.Path, "/cart/of/blue?x=1",
				e.seen.Headers["X-Path"], []string{"was /tenant/blue/cart?x=1"}, len(e.seen.Headers["X-Secret"]), 0,
				e.seen.Headers["X-Forwarded-Host"], []string{"filters.example.com"})
		}},
		{"the host of a header", "/header", []string{"x-host", "inner.example"}, func(e exchange) string {
			return check(e.status, 200, e.seen.Host, "inner.example", len(e.seen.Headers["X-Forwarded-Host"]), 0)
		}},
		{"a cookie", "/app", []string{"Cookie", "a=b; canary=always"}, func(e exchange) string {
			return check(e.status, 200, e.header.Get("X-Version"), "canary 200")
		}},
		{"a cookie by an expression", "/app", []string{"Cookie", "group=beta-7"}, func(e exchange) string {
			return check(e.status, 200, e.header.Get("X-Version"), "canary 200")
		}},
		{"another cookie", "/app", []string{"Cookie", "group=beta-7x; canary=no"}, func(e exchange) string {
			return check(e.status, 200, e.header.Get("X-Version"), "")
		}},
		{"a filter that does not exist", "/missing", nil, func(e exchange) string { return check(e.status, 500) }},
		{"a credential", "/token", nil, func(e exchange) string {
			return check(e.status, 200, e.seen.Headers["Authorization"], []string{"Bearer first"})
		}},
		{"a credential of the client", "/token", []string{"Authorization", "Basic own"}, func(e exchange) string {
			return check(e.status, 200, e.seen.Headers["Authorization"], []string{"Basic own"})
		}},
		{"a credential that does not exist", "/no-token", nil, func(e exchange) string { return check(e.status, 500) }},
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token", Namespace: w.Namespace}}
	change := client.RawPatch(types.MergePatchType, []byte(`{"stringData": {"credential": "Bearer second"}}`))
	if err := w.Patch(t.Context(), secret, change); err != nil {
		t.Fatal(err)
	}
	w.expect(t, address, "filters.example.com", []step{{"a changed credential", "/token", nil, func(e exchange) string {
		return check(e.status, 200, e.seen.Headers["Authorization"], []string{"Bearer second"})
	}}})
}
