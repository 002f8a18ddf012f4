package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// TestARuleThatCannotBeServedKeepsItsCookies has a rule for requests with a cookie, which it guards, and a rule for all others.
func TestARuleThatCannotBeServedKeepsItsCookies(t *testing.T) {
	t.Parallel()
	const (
		objects = base + `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: site, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: staff, creationTimestamp: "%s"}
spec:
  parentRefs: [{name: web}]
  rules:
    - filters:
        - {type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: staff}}
        - {type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: auth, port: 80}}}
      backendRefs: [{name: v2, port: 80}]
---
kind: HTTPRouteFilter
metadata: {namespace: infra, name: staff}
spec: {matches: [{cookies: [{name: role, value: staff}]}]}
---
kind: Service
metadata: {namespace: infra, name: auth}
spec: {ports: [{port: 80}]}
`
		second = "        - {type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v1, port: 80}}}\n"
	)
	without := func(kind store.Kind, key string) func([]store.Change) []store.Change {
		return func(all []store.Change) []store.Change {
			return slices.DeleteFunc(all, func(c store.Change) bool { return c.Kind == kind && c.Key == key })
		}
	}
	for name, c := range map[string]struct {
		damage func([]store.Change) []store.Change
		old    string
		new    string
		panics string
		// unknown says that the cookies are not known.
		unknown bool
	}{
		"no authorization server": {damage: without(store.Service, "infra/auth")},
		"no HTTPRouteFilter":      {damage: without(store.HTTPRouteFilter, "infra/staff"), unknown: true},
		"two authorizations":      {old: "      backendRefs: [{name: v2", new: second + "      backendRefs: [{name: v2"},
		"a header that is none": {
			old: "spec: {matches:", new: "spec: {requestHeaderModifier: {remove: ['a b']}, matches:",
		},
		"too many combinations": {
			old:     "cookies: [{name: role, value: staff}]}]",
			new:     "cookies: [{name: role, value: staff}]}" + strings.Repeat(", {cookies: [{name: role, value: x}]}", 600) + "]",
			unknown: true,
		},
		"a cookie that is none": {old: "{name: role, value: staff}", new: "{name: 'a b', value: staff}", unknown: true},
		"a route that cannot be read": {damage: func(all []store.Change) []store.Change {
			for _, c := range all {
				if c.Key == "infra/staff" && c.Kind == store.HTTPRoute {
					store.MarkUnreadable(c.Object, "a number is too large")
				}
			}
			return all
		}},
		"a panic": {panics: stageRoute},
	} {
		for _, age := range []string{"2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"} {
			t.Run(name+" "+age, func(t *testing.T) {
				t.Parallel()
				changes := resolvetest.Load(t, strings.Replace(fmt.Sprintf(objects, age), c.old, c.new, 1))
				if c.damage != nil {
					changes = c.damage(changes)
				}
				p := Offline(changes, WithFault(func(at, key string) {
					if at == c.panics && key == "HTTPRoute/infra/staff" {
						panic("made to")
					}
				}))
				if got := answered(t, p, "http://a.example/", ir.Header{Name: "cookie", Value: "role=staff"}); got != "error" {
					t.Errorf("with the cookie it answers %s", got)
				}
				if got := answered(t, p, "http://a.example/"); !c.unknown && !strings.Contains(got, "v1") {
					t.Errorf("without a cookie it answers %s", got)
				}
			})
		}
	}
}

// TestARouteThatCannotBeServedKeepsTheOtherKindAway has a GRPCRoute that answers errors, and a younger HTTPRoute for the same hostname.
func TestARouteThatCannotBeServedKeepsTheOtherKindAway(t *testing.T) {
	t.Parallel()
	const objects = base + `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: GRPCRoute
metadata: {namespace: infra, name: g, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {parentRefs: [{name: web}], hostnames: [s.example], rules: [{%s backendRefs: [{name: v2, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: h, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  parentRefs: [{name: web}]
  hostnames: [s.example]
  rules: [{matches: [{path: {value: /pkg.Admin}}], backendRefs: [{name: v1, port: 80}]}]
`
	for name, filter := range map[string]string{
		"it can be served":             "",
		"no rule can be served":        "filters: [{type: ExtensionRef, extensionRef: {group: a.example, kind: Login, name: x}}],",
		"it cannot be read":            "",
		"it is beyond a limit as well": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := resolvetest.Load(t, fmt.Sprintf(objects, filter))
			if name == "it cannot be read" {
				i := slices.IndexFunc(changes, func(c store.Change) bool { return c.Kind == store.GRPCRoute })
				store.MarkUnreadable(changes[i].Object, "a number is too large")
			}
			set := limits.Defaults()
			if name == "it is beyond a limit as well" {
				set.Rules = 1
			}
			p := Offline(changes, WithLimits(set))
			want := "error"
			if strings.HasPrefix(name, "it can be") || strings.HasPrefix(name, "it is beyond") {
				want = "v2"
			}
			if got := answered(t, p, "http://s.example/pkg.Admin/Get"); !strings.Contains(got, want) {
				t.Errorf("its requests are answered by %s", got)
			}
			if r, _ := p.graph.routeStatus.Get(nil, "HTTPRoute/infra/h"); r.Parents[0].Conditions[0].State != outcome.False {
				t.Errorf("the other kind is accepted: %+v", r.Parents[0].Conditions)
			}
		})
	}
}

// TestListenersBeyondALimitKeepTheirHostnames has ListenerSets with more listeners than a Gateway takes.
func TestListenersBeyondALimitKeepTheirHostnames(t *testing.T) {
	t.Parallel()
	set := func(namespace, name string, age int, hostnames ...string) string {
		text := fmt.Sprintf(`
---
kind: ListenerSet
metadata: {namespace: %s, name: %s, creationTimestamp: "2026-01-01T00:00:%02dZ"}
spec:
  parentRef: {namespace: infra, name: web}
  listeners:
`, namespace, name, age)
		for i, hostname := range hostnames {
			text += fmt.Sprintf("    - {name: l%d, port: 80, protocol: HTTP, hostname: %s, allowedRoutes: {namespaces: {from: All}}}\n", i, hostname)
		}
		return text
	}
	const objects = `
kind: Gateway
metadata: {namespace: infra, name: web}
spec:
  gatewayClassName: gatewright
  allowedListeners: {namespaces: {from: All}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec:
  parentRefs:
    - {name: web}
    - {kind: ListenerSet, name: first, namespace: a}
    - {kind: ListenerSet, name: other, namespace: b}
  rules: [{backendRefs: [{name: v1, port: 80}]}]
`
	for name, c := range map[string]struct {
		limit func(*limits.Limits)
		sets  string
		want  map[string]string
	}{
		"of a namespace": {
			func(l *limits.Limits) { l.NamespaceListeners = 1 },
			set("a", "first", 1, "one.example") + set("a", "second", 2, "admin.example") + set("b", "other", 3, "b.example"),
			map[string]string{"one.example": "v1", "admin.example": "error", "b.example": "v1", "x.example": "v1"},
		},
		"of a Gateway, shared by namespaces": {
			func(l *limits.Limits) { l.Listeners = 3 },
			set("a", "first", 1, "one.example") + set("a", "second", 2, "two.example") + set("a", "third", 3, "admin.example") +
				set("b", "other", 4, "b.example"),
			map[string]string{"one.example": "v1", "two.example": "error", "admin.example": "error", "b.example": "v1", "x.example": "v1"},
		},
		"of a Gateway that has no room for any": {
			func(l *limits.Limits) { l.Listeners = 1 }, set("a", "first", 1, "one.example"),
			map[string]string{"one.example": "error", "x.example": "v1"},
		},
		"more than can be kept": {
			func(l *limits.Limits) { l.NamespaceListeners = 1 },
			set("a", "first", 1, "one.example") + set("a", "second", 2, "two.example") + set("a", "third", 3, "three.example") +
				set("b", "other", 4, "b.example"),
			map[string]string{"one.example": "error", "two.example": "error", "b.example": "v1", "x.example": "v1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := limits.Defaults()
			c.limit(&all)
			answer := answering(t, objects+c.sets, WithLimits(all))
			for host, want := range c.want {
				if got := answer("http://" + host + "/"); !strings.Contains(got, want) {
					t.Errorf("%s answers %s, want %s", host, got, want)
				}
			}
		})
	}
}

// TestARouteBeyondALimitTakesNothingFromTheOtherKind has a GRPCRoute that a listener does not take beside an HTTPRoute, and that its
// namespace has no room for either.
func TestARouteBeyondALimitTakesNothingFromTheOtherKind(t *testing.T) {
	t.Parallel()
	set := limits.Defaults()
	set.Routes = 1
	answer := answering(t, `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: h, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {parentRefs: [{name: web}], hostnames: [s.example], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: GRPCRoute
metadata: {namespace: infra, name: g, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  parentRefs: [{name: web}]
  hostnames: [s.example]
  rules: [{matches: [{method: {service: pkg.Admin}}], backendRefs: [{name: v2, port: 80}]}]
`, WithLimits(set))
	if got := answer("http://s.example/pkg.Admin/Get"); !strings.Contains(got, "v1") {
		t.Errorf("requests of the HTTPRoute are answered by %s", got)
	}
}

// TestAnUnknownRouteClosesItsOwnNamespaceOnly has a route of which only the parents and the hostname can be read, or that panics at its
// matches, beside one of the same namespace and one of another.
func TestAnUnknownRouteClosesItsOwnNamespaceOnly(t *testing.T) {
	t.Parallel()
	for _, age := range []string{"2025-01-01T00:00:00Z", "2027-01-01T00:00:00Z"} {
		objects := tenantsOnAHost(tenantRoute("a", 1, "{path: {value: /app}}"), tenantRoute("a", 2, "{path: {value: /mine}}"), `
kind: HTTPRoute
metadata: {namespace: a, name: unknown, creationTimestamp: "`+age+`"}
spec: {parentRefs: [{name: web, namespace: infra}], hostnames: [s.example]}
`)
		// Without the route for all requests, they would fall through.
		objects = strings.Replace(objects, "hostnames: [s.example], rules: [{backendRefs: [{name: own", "rules: [{backendRefs: [{name: own", 1)
		changes := resolvetest.Load(t, base+objects)
		for _, c := range changes {
			if c.Key == "a/unknown" {
				store.MarkUnreadable(c.Object, "a number is too large")
			}
		}
		p := Offline(changes)
		for path, want := range map[string]string{"/admin": "b/guarded", "/app": "error", "/mine": "error", "/else": "error"} {
			if got := answered(t, p, "http://s.example"+path); !strings.Contains(got, want) {
				t.Errorf("%s: %s answers %s, want %s", age, path, got, want)
			}
		}
		if got := answered(t, p, "http://other.example/"); !strings.Contains(got, "b/own") {
			t.Errorf("another hostname answers %s", got)
		}
		reported := notices{}
		p.graph.noticeBudgets(reported)
		for _, name := range []string{"a/r1", "a/r2"} {
			if _, ok := reported[notice{subject{store.HTTPRoute, name}, "infra/web"}]; !ok {
				t.Errorf("HTTPRoute %s does not say why it answers errors", name)
			}
		}
		if _, ok := reported[notice{subject{store.HTTPRoute, "b/admin"}, "infra/web"}]; ok {
			t.Error("the route of another namespace says that it answers errors")
		}
	}
}

// TestAPanicOfAPolicyClosesItsTargets has stages panic for policies of which nothing is known from before.
func TestAPanicOfAPolicyClosesItsTargets(t *testing.T) {
	t.Parallel()
	const objects = base + `
kind: Gateway
metadata: {namespace: infra, name: web}
spec:
  gatewayClassName: gatewright
  listeners:
    - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
    - {name: http, port: 80, protocol: HTTP}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: limited}
spec: {parentRefs: [{name: web}], hostnames: [limited.example], rules: [{backendRefs: [{name: v2, port: 80}]}]}
---
kind: ClientTrafficPolicy
metadata: {namespace: infra, name: c}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  tls: {clientValidation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: t}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: limited}]
  rateLimit: {local: {rules: [{limit: {requests: 5, unit: Second}}]}}
`
	for _, c := range []struct{ stage, key, url, want, other string }{
		{stageClientPolicy, "infra/c", "https://a.example/", "closed", "http://a.example/"},
		{stageClientSettings, "infra/web", "https://a.example/", "closed", "http://a.example/"},
		{string(store.BackendTrafficPolicy), "infra/t", "http://limited.example/", "error", "http://a.example/"},
	} {
		t.Run(c.stage, func(t *testing.T) {
			t.Parallel()
			p := Offline(append(keys(), resolvetest.Load(t, objects)...), WithFault(func(at, key string) {
				if at == c.stage && key == c.key {
					panic("made to")
				}
			}))
			if got := answered(t, p, c.url); got != c.want {
				t.Errorf("%s answers %s, want %s", c.url, got, c.want)
			}
			if got := answered(t, p, c.other); !strings.Contains(got, "v1") {
				t.Errorf("%s answers %s", c.other, got)
			}
		})
	}
}

// TestABackendThatIsCountedTakesNothing has a route beyond a limit of backends, and a younger one that uses a backend within it.
func TestABackendThatIsCountedTakesNothing(t *testing.T) {
	t.Parallel()
	set := limits.Defaults()
	set.Backends = 1
	var objects string
	for i, backend := range []string{"v1", "v2", "v1"} {
		objects += fmt.Sprintf(`---
kind: HTTPRoute
metadata: {namespace: infra, name: r%[1]d, creationTimestamp: "2026-01-01T00:00:0%[1]dZ"}
spec:
  parentRefs: [{name: web}]
  rules: [{matches: [{path: {value: /%[1]d}}], backendRefs: [{name: %[2]s, port: 80}]}]
`, i+1, backend)
	}
	answer := answering(t, sharedGateway+objects, WithLimits(set))
	for path, want := range map[string]string{"/1": "v1", "/2": "error", "/3": "v1"} {
		if got := answer("http://a.example" + path); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", path, got, want)
		}
	}
}

// TestAClosedListenerAnswersBesideListenersOfTLS has a listener of HTTPS that is not served, on a port of which no other reads requests.
func TestAClosedListenerAnswersBesideListenersOfTLS(t *testing.T) {
	t.Parallel()
	answer := answering(t, `
kind: Gateway
metadata: {namespace: infra, name: web}
spec:
  gatewayClassName: gatewright
  listeners:
    - {name: tls, port: 443, protocol: TLS, hostname: t.example, tls: {mode: Passthrough}}
    - name: https
      port: 443
      protocol: HTTPS
      hostname: s.example
      tls: {certificateRefs: [{name: cert}]}
      filters: {requests: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Login, name: x}}]}
`)
	if got := answer("https://s.example/"); got != "error" {
		t.Errorf("the closed listener answers %s", got)
	}
}

// TestANewGuardThatPanicsClosesItsRoute has a route panic after it got a guard, and after another change.
func TestANewGuardThatPanicsClosesItsRoute(t *testing.T) {
	t.Parallel()
	const ask = "filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v2, port: 80}}}], "
	version := func(generation int, filters, backend string) []store.Change {
		return resolvetest.Load(t, fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: %d}
spec: {parentRefs: [{name: web}], rules: [{%sbackendRefs: [{name: %s, port: 80}]}]}
`, generation, filters, backend))
	}
	for name, c := range map[string]struct {
		before, after []store.Change
		want          string
	}{
		"a guard is new":              {version(1, "", "v1"), version(2, ask, "v1"), "error"},
		"there is none":               {version(1, "", "v1"), version(2, "", "v2"), "v1"},
		"it is taken away":            {version(1, ask, "v1"), version(2, "", "v1"), "v1"},
		"it is the same as before":    {version(1, ask, "v1"), version(2, ask, "v2"), "v1"},
		"it is there, and is another": {version(1, ask, "v1"), version(2, strings.Replace(ask, "v2", "v1", 1), "v1"), "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := false
			p := Offline(append(resolvetest.Load(t, base+sharedGateway), c.before...), WithFault(func(at, _ string) {
				if broken && at == stageRoute {
					panic("made to")
				}
			}))
			broken = true
			p.Put(c.after[0])
			p.config.step()
			if got := answered(t, p, "http://a.example/"); !strings.Contains(got, c.want) {
				t.Errorf("it answers %s, want %s", got, c.want)
			}
		})
	}
}
