package pipeline

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
)

// answering computes the objects once, and returns what becomes of requests, as URLs: the first backend, an error, `not found`, or
// `closed`.
func answering(t *testing.T, objects string, options ...Option) func(url string) string {
	t.Helper()
	options = append([]Option{WithExtensions(store.ExtensionTypes{ExtProc: true, Lua: true})}, options...)
	p := Offline(append(keys(), resolvetest.Load(t, base+objects)...), options...)
	return func(url string) string { return answered(t, p, url) }
}

func answered(t *testing.T, p *Pipeline, url string, headers ...ir.Header) string {
	t.Helper()
	request, err := explain.ParseURL("GET", url)
	if err != nil {
		t.Fatal(err)
	}
	request.Headers = headers
	config := p.Explainable()
	config.Endpoints = nil
	e := explain.Explain(&config, request)
	switch {
	case e.Result == explain.Closed:
		return "closed"
	case e.Status == http.StatusNotFound:
		return "not found"
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

// tenantsOnAHost are two tenants that share a hostname. The older route of tenant b takes all requests, and its younger one asks for
// authorization; tenant a has the routes in between.
func tenantsOnAHost(between ...string) string {
	return sharedGateway + `---
kind: HTTPRoute
metadata: {namespace: b, name: site, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {parentRefs: [{name: web, namespace: infra}], hostnames: [s.example], rules: [{backendRefs: [{name: own, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: b, name: admin, generation: 1, creationTimestamp: "2026-01-03T00:00:00Z"}
spec:
  parentRefs: [{name: web, namespace: infra}]
  hostnames: [s.example]
  rules:
    - matches: [{path: {value: /admin}}]
      filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: own, port: 80}}}]
      backendRefs: [{name: guarded, port: 80}]
---
kind: Service
metadata: {namespace: b, name: own}
spec: {ports: [{port: 80}]}
---
kind: Service
metadata: {namespace: b, name: guarded}
spec: {ports: [{port: 80}]}
---
kind: Service
metadata: {namespace: a, name: own}
spec: {ports: [{port: 80}]}
---
` + strings.Join(between, "\n---\n")
}

const sharedGateway = `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec:
  gatewayClassName: gatewright
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
`

// tenantRoute is a route of a tenant for the shared hostname, by its place in the order of age, with matches such as `{path: {value: /a}}`.
func tenantRoute(namespace string, number int, matches ...string) string {
	return fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: %s, name: r%d, generation: 1, creationTimestamp: "2026-01-02T00:00:%02dZ"}
spec:
  parentRefs: [{name: web, namespace: infra}]
  hostnames: [s.example]
  rules: [{matches: [%s], backendRefs: [{name: own, port: 80}]}]
`, namespace, number, number, strings.Join(matches, ", "))
}

// withHeader is a route that sets a header of so many bytes.
func withHeader(route string, bytes int) string {
	const filter = "filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x, value: %s}]}}], backendRefs:"
	return strings.Replace(route, "backendRefs:", fmt.Sprintf(filter, strings.Repeat("v", bytes)), 1)
}

// TestNoTenantEvictsAnother has a tenant with expensive routes on the hostname of another.
func TestNoTenantEvictsAnother(t *testing.T) {
	t.Parallel()
	var expensive []string
	for n := range 4 {
		expensive = append(expensive, tenantRoute("a", n, fmt.Sprintf(`{path: {type: RegularExpression, value: "/x%d/a{100}b{100}"}}`, n)))
	}
	var many []string
	for n := range 12 {
		many = append(many, tenantRoute("a", n, fmt.Sprintf("{path: {value: /x%d}}", n)))
	}
	var large []string
	for n := range 4 {
		large = append(large, withHeader(tenantRoute("a", n, fmt.Sprintf("{path: {value: /x%d}}", n)), 3000))
	}
	for name, c := range map[string]struct {
		objects string
		limit   func(*limits.Limits)
		// closed is a request of the tenant that takes too much.
		closed string
	}{
		"expressions": {tenantsOnAHost(expensive...), func(l *limits.Limits) { l.HostExpressions = 700 }, "/x3/aabb"},
		"rules":       {tenantsOnAHost(many...), func(l *limits.Limits) { l.HostRules = 8 }, "/x11"},
		"bytes":       {tenantsOnAHost(large...), func(l *limits.Limits) { l.HostBytes = 9000 }, "/x3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := limits.Defaults()
			c.limit(&set)
			answer := answering(t, c.objects, WithLimits(set))
			for path, want := range map[string]string{"/": "b/own", "/admin": "b/guarded", c.closed: "error"} {
				if got := answer("http://s.example" + path); !strings.Contains(got, want) {
					t.Errorf("%s answers %s, want %s", path, got, want)
				}
			}
			if name == "expressions" {
				if got := answer("http://s.example/x0/" + strings.Repeat("a", 100) + strings.Repeat("b", 100)); !strings.Contains(got, "a/own") {
					t.Errorf("the oldest expression answers %s", got)
				}
				if got := answer("http://s.example/x0/aabb"); !strings.Contains(got, "b/own") {
					t.Errorf("what the oldest expression does not match answers %s", got)
				}
			}
		})
	}
}

// TestARouteBeyondABudgetKeepsItsRequests has a tenant whose youngest route, which guards something, is beyond each of the limits.
func TestARouteBeyondABudgetKeepsItsRequests(t *testing.T) {
	t.Parallel()
	own := []string{tenantRoute("b", 1, "{path: {value: /one}}"), tenantRoute("b", 2, "{path: {value: /two}}")}
	regex := strings.Replace(tenantsOnAHost(own...), "{path: {value: /admin}}", `{path: {type: RegularExpression, value: "/admin[a-z]{0,100}"}}`, 1)
	for name, c := range map[string]struct {
		objects string
		limit   func(*limits.Limits)
		// site is what the tenant's wide route answers.
		site string
	}{
		"rules of a host":              {tenantsOnAHost(own...), func(l *limits.Limits) { l.HostRules = 3 }, "b/own"},
		"expressions of a host":        {regex, func(l *limits.Limits) { l.HostExpressions = 10 }, "b/own"},
		"more rules than can be kept":  {tenantsOnAHost(own...), func(l *limits.Limits) { l.HostRules = 1 }, "error"},
		"routes of a namespace":        {tenantsOnAHost(own...), func(l *limits.Limits) { l.Routes = 3 }, "b/own"},
		"rules of a namespace":         {tenantsOnAHost(own...), func(l *limits.Limits) { l.Rules = 3 }, "b/own"},
		"expressions of a namespace":   {regex, func(l *limits.Limits) { l.NamespaceExpressions = 10 }, "b/own"},
		"backends of a namespace":      {tenantsOnAHost(own...), func(l *limits.Limits) { l.Backends = 1 }, "b/own"},
		"more routes than can be kept": {tenantsOnAHost(own...), func(l *limits.Limits) { l.Routes = 1 }, "error"},
		"bytes of a route":             {tenantsOnAHost(own...), func(l *limits.Limits) { l.RouteBytes = 2000 }, "b/own"},
		"bytes of a host":              {tenantsOnAHost(own...), func(l *limits.Limits) { l.HostBytes = 1500 }, "b/own"},
		"bytes of a namespace":         {tenantsOnAHost(own...), func(l *limits.Limits) { l.NamespaceBytes = 5000 }, "b/own"},
		"bytes of a Gateway":           {tenantsOnAHost(own...), func(l *limits.Limits) { l.GatewayBytes = 5000 }, "b/own"},
		"more bytes than can be kept":  {tenantsOnAHost(own...), func(l *limits.Limits) { l.NamespaceBytes = 1500 }, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := limits.Defaults()
			c.limit(&set)
			answer := answering(t, c.objects, WithLimits(set))
			for path, want := range map[string]string{"/": c.site, "/admin": "error"} {
				if got := answer("http://s.example" + path); !strings.Contains(got, want) {
					t.Errorf("%s answers %s, want %s", path, got, want)
				}
			}
		})
	}
}

// TestWideRulesThatAreNotRepeatedKeepTheirRequests has a wide route with a guard that a narrower hostname has no room for.
func TestWideRulesThatAreNotRepeatedKeepTheirRequests(t *testing.T) {
	t.Parallel()
	objects := strings.ReplaceAll(tenantsOnAHost(tenantRoute("b", 1, "{path: {value: /one}}")), "hostnames: [s.example]", `hostnames: ["*.example"]`) +
		"---\n" + strings.ReplaceAll(tenantRoute("a", 2, "{path: {value: /narrow}}"), "[s.example]", `["*.s.example"]`)
	for limit, site := range map[int]string{3: "b/own", 2: "b/own", 1: "error"} {
		set := limits.Defaults()
		set.RepeatedRules = limit
		answer := answering(t, objects, WithLimits(set))
		for url, want := range map[string]string{
			"http://x.s.example/": site, "http://x.s.example/admin": "error", "http://x.s.example/narrow": "a/own",
			"http://s.example/": "b/own", "http://s.example/admin": "b/guarded",
		} {
			if limit == 3 && strings.HasSuffix(url, "x.s.example/admin") {
				want = "b/guarded"
			}
			if got := answer(url); !strings.Contains(got, want) {
				t.Errorf("with room for %d rules, %s answers %s, want %s", limit, url, got, want)
			}
		}
	}
}

// TestAConnectionBeyondABudgetIsClosed has a route for whole connections that its namespace has no room for, and a wider one.
func TestAConnectionBeyondABudgetIsClosed(t *testing.T) {
	t.Parallel()
	set := limits.Defaults()
	set.Routes = 1
	answer := answering(t, `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec: {gatewayClassName: gatewright, listeners: [{name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}}]}
---
kind: TLSRoute
metadata: {namespace: infra, name: wide, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: TLSRoute
metadata: {namespace: infra, name: narrow, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{name: web}], hostnames: [s.example], rules: [{backendRefs: [{name: v2, port: 80}]}]}
`, WithLimits(set))
	for url, want := range map[string]string{"https://s.example/": "closed", "https://other.example/": "v1"} {
		if got := answer(url); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", url, got, want)
		}
	}
}

// TestAnObjectThatCannotBeReadFailsClosed has one of the objects that guard a request be one that only part of can be read, as the guard of
// watches leaves it.
func TestAnObjectThatCannotBeReadFailsClosed(t *testing.T) {
	t.Parallel()
	const objects = `
kind: Gateway
metadata: {namespace: infra, name: web}
spec:
  gatewayClassName: gatewright
  allowedListeners: {namespaces: {from: All}}
  listeners:
    - {name: http, port: 80, protocol: HTTP}
    - {name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}}
---
kind: ListenerSet
metadata: {namespace: infra, name: set}
spec: {parentRef: {name: web}, listeners: [{name: l, port: 80, protocol: HTTP, hostname: set.example}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: wide, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{name: web}], hostnames: [r.example], rules: [{matches: [{path: {value: /admin}}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: site, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {parentRefs: [{name: web}], hostnames: [r.example], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: Gateway
metadata: {namespace: infra, name: rpc}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 81, protocol: HTTP}]}
---
kind: GRPCRoute
metadata: {namespace: infra, name: g}
spec: {parentRefs: [{name: rpc}], hostnames: [g.example], rules: [{matches: [{method: {service: admin}}]}]}
---
kind: GRPCRoute
metadata: {namespace: infra, name: all}
spec: {parentRefs: [{name: rpc}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: TLSRoute
metadata: {namespace: infra, name: t}
spec: {parentRefs: [{name: web}], hostnames: [t.example]}
---
kind: TLSRoute
metadata: {namespace: infra, name: all}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: BackendTLSPolicy
metadata: {namespace: infra, name: p}
spec: {targetRefs: [{group: "", kind: Service, name: v2}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: tls}
spec: {parentRefs: [{name: web}], hostnames: [backend.example], rules: [{backendRefs: [{name: v2, port: 80}]}]}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: limited}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: limited}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: limited}
spec: {parentRefs: [{name: web}], hostnames: [limited.example], rules: [{backendRefs: [{name: v1, port: 80}]}]}
`
	for _, c := range []struct {
		kind       store.Kind
		key        string
		url, other string
		// without takes away what cannot be read either.
		without string
	}{
		{kind: store.HTTPRoute, key: "infra/r", url: "http://r.example/admin", other: "http://r.example/"},
		{kind: store.HTTPRoute, key: "infra/r", url: "http://r.example/admin", without: ", rules: [{matches: [{path: {value: /admin}}]}]"},
		{kind: store.HTTPRoute, key: "infra/r", url: "http://r.example/", without: ", rules: [{matches: [{path: {value: /admin}}]}]"},
		{kind: store.GRPCRoute, key: "infra/g", url: "http://g.example:81/admin/m", other: "http://g.example:81/a/b"},
		{kind: store.TLSRoute, key: "infra/t", url: "https://t.example/", other: "https://o.example/"},
		{kind: store.ListenerSet, key: "infra/set", url: "http://set.example/", other: "http://o.example/"},
		{kind: store.BackendTLSPolicy, key: "infra/p", url: "http://backend.example/", other: "http://o.example/"},
		{kind: store.BackendTrafficPolicy, key: "infra/limited", url: "http://limited.example/", other: "http://o.example/"},
	} {
		t.Run(string(c.kind)+" "+c.url+c.without, func(t *testing.T) {
			t.Parallel()
			changes := resolvetest.Load(t, base+strings.Replace(objects, c.without, "", 1))
			for _, change := range changes {
				if change.Kind != c.kind || change.Key != c.key {
					continue
				}
				store.MarkUnreadable(change.Object, "a number is too large")
				if c.kind == store.BackendTrafficPolicy {
					change.Object.SetAnnotations(store.WithUnknownFields(nil, []string{"spec.rateLimit"}))
				}
			}
			p := Offline(changes, WithGlobalRateLimits(true))
			if got := answered(t, p, c.url); got != "error" && got != "closed" {
				t.Errorf("%s answers %s", c.url, got)
			}
			if c.other != "" {
				if got := answered(t, p, c.other); !strings.Contains(got, "v1") {
					t.Errorf("%s answers %s", c.other, got)
				}
			}
			if r, ok := p.graph.routeStatus.Get(nil, store.KindKey(c.kind, c.key)); ok &&
				!strings.Contains(r.Parents[0].Conditions[0].Message, "a number is too large") {
				t.Errorf("the route reports %+v", r.Parents[0].Conditions)
			}
		})
	}
}
