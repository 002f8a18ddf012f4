package pipeline

import (
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
)

// answering computes the objects once, and returns what becomes of requests, as URLs: the first backend, an error, or `closed`.
func answering(t *testing.T, objects string, options ...Option) func(url string) string {
	t.Helper()
	options = append([]Option{WithExtensions(store.ExtensionTypes{ExtProc: true, Lua: true})}, options...)
	p := Offline(append(keys(), resolvetest.Load(t, base+objects)...), options...)
	return func(url string) string { return answered(t, p, url) }
}

func answered(t *testing.T, p *Pipeline, url string) string {
	t.Helper()
	request, err := explain.ParseURL("GET", url)
	if err != nil {
		t.Fatal(err)
	}
	config := p.Explainable()
	config.Endpoints = nil
	e := explain.Explain(&config, request)
	switch {
	case e.Result == explain.Closed:
		return "closed"
	case e.Failed():
		return "error"
	case len(e.Backends) > 0:
		return e.Backends[0].Object
	default:
		return string(e.Result)
	}
}

// TestAListenerThatIsNotServedKeepsItsHostnames has a listener that is not accepted beside a wider one with a route.
func TestAListenerThatIsNotServedKeepsItsHostnames(t *testing.T) {
	t.Parallel()
	const (
		unknown = "{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Login, name: x}}"
		invalid = "{type: ExternalAuth, externalAuth: {protocol: FTP, backendRef: {name: v1, port: 80}}}"
		http    = "port: 80, protocol: HTTP"
		https   = "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}"
		route   = `
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{name: v1, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: infra, name: t}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{name: v2, port: 80}]}]
`
	)
	for _, c := range []struct {
		name, scheme, wide, narrow, extra, want string
	}{
		{"a filter that is not served", "http", http, http + ", filters: {requests: [" + unknown + "]}", "", "error"},
		{"a filter that is invalid", "http", http, http + ", filters: {requests: [" + invalid + "]}", "", "error"},
		{"a filter that is not served, with TLS", "https", https, https + ", filters: {requests: [" + unknown + "]}", "", "error"},
		{
			"a selector that cannot be read", "http", http,
			http + `, allowedRoutes: {namespaces: {from: Selector, selector: {matchExpressions: [{key: a, operator: Near}]}}}`, "", "error",
		},
		{
			"a listener of TLS without certificates and with a filter", "https", https,
			"port: 443, protocol: HTTPS, filters: {requests: [" + unknown + "]}", "", "closed",
		},
		{
			"clients that cannot be validated, beside a listener that validates none", "https",
			"port: 443, protocol: TLS, tls: {mode: Passthrough}", https,
			"  tls: {frontend: {default: {validation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: none}]}}}}\n", "closed",
		},
		{
			"another listener of the same hostname", "http", http + "}\n    - {name: first, hostname: admin.corp.example, " + http +
				", filters: {requests: [" + unknown + "]}", http, "", "error",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gateway := "kind: Gateway\nmetadata: {namespace: infra, name: web}\nspec:\n  gatewayClassName: gatewright\n" + c.extra +
				"  listeners:\n    - {name: plain, port: 8080, protocol: HTTP}\n" +
				"    - {name: wide, hostname: '*.corp.example', " + c.wide + "}\n" +
				"    - {name: admin, hostname: admin.corp.example, " + c.narrow + "}\n"
			answer := answering(t, gateway+route)
			if got := answer(c.scheme + "://admin.corp.example/"); got != c.want {
				t.Errorf("the hostname of the listener answers %s, want %s", got, c.want)
			}
			if got := answer("http://other.corp.example:8080/"); !strings.Contains(got, "v1") {
				t.Errorf("another listener answers %s", got)
			}
			if got := answer(c.scheme + "://other.corp.example/"); strings.Contains(c.wide, "HTTP") && !strings.Contains(got, "v1") {
				t.Errorf("another hostname answers %s", got)
			}
		})
	}
}

// TestAListenerSetThatIsNotServedKeepsItsHostnames has a ListenerSet whose only listener is not accepted.
func TestAListenerSetThatIsNotServedKeepsItsHostnames(t *testing.T) {
	t.Parallel()
	answer := answering(t, `
kind: Gateway
metadata: {namespace: infra, name: web}
spec:
  gatewayClassName: gatewright
  allowedListeners: {namespaces: {from: All}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
kind: ListenerSet
metadata: {namespace: infra, name: set}
spec:
  parentRef: {name: web}
  listeners:
    - name: admin
      port: 80
      protocol: HTTP
      hostname: admin.corp.example
      filters: {requests: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Login, name: x}}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{name: v1, port: 80}]}]
`)
	if got := answer("http://admin.corp.example/"); got != "error" {
		t.Errorf("the hostname of the ListenerSet answers %s", got)
	}
	if got := answer("http://other.corp.example/"); !strings.Contains(got, "v1") {
		t.Errorf("another hostname answers %s", got)
	}
}

// TestAPanicAtTheStartClosesItsHost has a stage panic for one host, or its route, and a wider route beside it.
func TestAPanicAtTheStartClosesItsHost(t *testing.T) {
	t.Parallel()
	const objects = base + `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: wide}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v2, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec: {parentRefs: [{name: web}], hostnames: [admin.example.com], rules: [{backendRefs: [{name: v1, port: 80}]}]}
`
	for _, stage := range []string{stageVirtualHost, stageHostProto, stageRoute, stageRouteConflict} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			p := Offline(resolvetest.Load(t, objects), WithFault(func(at, key string) {
				if at == stage && (strings.Contains(key, "admin.example.com") || key == "HTTPRoute/infra/r") {
					panic("made to")
				}
			}))
			if got := answered(t, p, "http://other.example.com/"); !strings.Contains(got, "v2") {
				t.Errorf("another host answers %s", got)
			}
			id := ir.TableID{Gateway: "infra/web", Port: 80}.Host("admin.example.com")
			if stage == stageHostProto {
				got, _ := p.graph.virtualHosts.Get(nil, id)
				if version(got.resource) != version(closedTranslation(id).resource) {
					t.Error("proxies are not sent a host that answers errors")
				}
				return
			}
			if got := answered(t, p, "http://admin.example.com/"); got != "error" {
				t.Errorf("the host answers %s", got)
			}
		})
	}
}

// TestAHostThatIsNotValidIsClosed has a host that Envoy would reject as a whole.
func TestAHostThatIsNotValidIsClosed(t *testing.T) {
	t.Parallel()
	id := ir.TableID{Gateway: "infra/web", Port: 80}.Host("admin.example.com")
	bad := checked(func() *routev3.VirtualHost { return &routev3.VirtualHost{Name: "h", Domains: []string{"a\nb"}} })
	if got := orClosed(id, translation{}, bad); version(got.resource) != version(closedTranslation(id).resource) || len(got.invalid) == 0 {
		t.Errorf("without a version before: %+v", got)
	}
	good := checked(func() *routev3.VirtualHost {
		host, _ := routetranslate.VirtualHost(ir.VirtualHost{Domain: "a.example"})
		return host
	})
	if got := orClosed(id, good, bad); got.resource != good.resource || len(got.invalid) == 0 {
		t.Errorf("with a version before: %+v", got)
	}
	if got := orClosed(id, good, good); got.resource != good.resource || len(got.invalid) > 0 {
		t.Errorf("a good one: %+v", got)
	}
}
