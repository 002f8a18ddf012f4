package pipeline

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// TestAListenerThatLosesItsPortKeepsItsHostnames has a listener whose port has another protocol, or whose protocol is not known, beside
// wider ones with routes.
func TestAListenerThatLosesItsPortKeepsItsHostnames(t *testing.T) {
	t.Parallel()
	const (
		tls     = ", tls: {certificateRefs: [{name: cert}]}"
		wide    = "{name: wide, hostname: '*.corp.example', port: 80, protocol: HTTP}"
		secure  = "{name: wide, hostname: '*.corp.example', port: 80, protocol: HTTPS" + tls + "}"
		through = "{name: wide, hostname: '*.corp.example', port: 80, protocol: TLS, tls: {mode: Passthrough}}"
		admin   = "{name: admin, hostname: admin.corp.example, port: 80, protocol: "
		again   = "{name: again, hostname: admin.corp.example, port: 80, protocol: "
		set     = "{name: one, port: 80, protocol: "
	)
	for _, c := range []struct {
		name, listeners, sets string
		want                  map[string]string
	}{
		{
			"HTTPS beside HTTP", wide + "; " + admin + "HTTPS" + tls + "}", "",
			map[string]string{"http://admin.corp.example:80/": "error", "http://other.corp.example:80/": "v1"},
		},
		{
			"HTTPS without a certificate beside HTTP", wide + "; " + admin + "HTTPS}", "",
			map[string]string{"http://admin.corp.example:80/": "error", "http://other.corp.example:80/": "v1"},
		},
		{
			"TLS beside HTTP", wide + "; " + admin + "TLS, tls: {mode: Passthrough}}", "",
			map[string]string{"http://admin.corp.example:80/": "error", "http://other.corp.example:80/": "v1"},
		},
		{
			"a protocol that is not known, behind", wide + "; " + admin + "example.com/other}", "",
			map[string]string{"http://admin.corp.example:80/": "error", "http://other.corp.example:80/": "v1"},
		},
		{
			"a protocol that is not known, before", admin + "example.com/other}; " + wide, "",
			map[string]string{"http://admin.corp.example:80/": "error", "http://other.corp.example:80/": "v1"},
		},
		{
			"HTTP beside HTTPS", secure + "; " + admin + "HTTP}", "",
			map[string]string{"https://admin.corp.example:80/": "closed", "https://other.corp.example:80/": "v1"},
		},
		{
			"several beside HTTPS", secure + "; " + admin + "HTTP}; " + again + "example.com/other}", "",
			map[string]string{"https://admin.corp.example:80/": "closed", "https://other.corp.example:80/": "v1"},
		},
		{
			"HTTP beside TLS", through + "; " + admin + "HTTP}", "",
			map[string]string{"https://admin.corp.example:80/": "closed", "https://other.corp.example:80/": "v2"},
		},
		{
			"a wildcard beside a hostname that it covers",
			"{name: all, port: 80, protocol: HTTP}; {name: own, hostname: own.corp.example, port: 80, protocol: HTTP}; " +
				"{name: lost, hostname: '*.corp.example', port: 80, protocol: HTTPS" + tls + "}", "",
			map[string]string{
				"http://own.corp.example:80/": "v1", "http://admin.corp.example:80/": "error", "http://other.example:80/": "v1",
			},
		},
		{
			"no hostname", wide + "; {name: lost, port: 80, protocol: HTTPS" + tls + "}", "",
			map[string]string{"http://admin.corp.example:80/": "v1", "http://other.example:80/": "not found"},
		},
		{
			"a hostname that another listener has", wide + "; " + admin + "HTTPS" + tls + "}; " + again + "HTTP}", "",
			map[string]string{"http://admin.corp.example:80/": "v1"},
		},
		{
			"a ListenerSet", wide, set + "HTTPS, hostname: admin.corp.example" + tls + "}",
			map[string]string{"http://admin.corp.example:80/": "error", "http://other.corp.example:80/": "v1"},
		},
		{
			"a ListenerSet without a hostname", wide, set + "example.com/other}",
			map[string]string{"http://admin.corp.example:80/": "v1"},
		},
		{
			"a ListenerSet with the hostname of a listener that is served", wide + "; " + admin + "HTTP}",
			set + "example.com/other, hostname: admin.corp.example}",
			map[string]string{"http://admin.corp.example:80/": "v1", "http://other.corp.example:80/": "v1"},
		},
		{
			"a ListenerSet with the hostname of another one that is served", wide,
			set + "example.com/other, hostname: admin.corp.example}; " + set + "HTTP, hostname: admin.corp.example}",
			map[string]string{"http://admin.corp.example:80/": "not found", "http://other.corp.example:80/": "v1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answer := answering(t, conflicting(c.listeners, c.sets))
			for url, want := range c.want {
				if got := answer(url); !strings.Contains(got, want) {
					t.Errorf("%s answers %s, want %s", url, got, want)
				}
			}
		})
	}
}

// TestAConnectionOfAWiderListenerIsNotThatOfOneWithoutItsPort has a client that asks for the hostname by a connection to the wider
// listener.
func TestAConnectionOfAWiderListenerIsNotThatOfOneWithoutItsPort(t *testing.T) {
	t.Parallel()
	p := Offline(append(keys(), resolvetest.Load(t, base+conflicting(
		"{name: wide, hostname: '*.corp.example', port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}; "+
			"{name: admin, hostname: admin.corp.example, port: 443, protocol: HTTP}", ""))...))
	config := p.Explainable()
	e := explain.Explain(&config, explain.Request{
		Method: http.MethodGet, Port: 443, TLS: true, HTTP2: true, ServerName: "other.corp.example", Host: "admin.corp.example", Path: "/",
	})
	if e.Status != http.StatusMisdirectedRequest {
		t.Errorf("got status %d, result %s", e.Status, e.Result)
	}
}

// TestAPolicyOnAListenerThatIsNotServedIsNotProgrammed has policies on listeners and a ListenerSet that are not accepted, and one on a
// listener that is, too.
func TestAPolicyOnAListenerThatIsNotServedIsNotProgrammed(t *testing.T) {
	t.Parallel()
	const (
		listeners = "{name: wide, hostname: '*.corp.example', port: 80, protocol: HTTP}; " +
			"{name: admin, hostname: admin.corp.example, port: 80, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}; " +
			"{name: bare, hostname: bare.corp.example, port: 443, protocol: HTTPS}"
		sets = "{name: one, hostname: set.corp.example, port: 80, protocol: example.com/other}"
	)
	gateway := func(section string) string {
		return "{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: " + section + "}"
	}
	const set = "{group: gateway.networking.k8s.io, kind: ListenerSet, name: a}"
	const admin, bare = "listener admin of Gateway infra/web is not served; see its conditions",
		"listener bare of Gateway infra/web is not served; see its conditions"
	for _, c := range []struct{ name, namespace, targets, want string }{
		{"a listener that is served", "infra", gateway("wide"), ""},
		{"the Gateway", "infra", "{group: gateway.networking.k8s.io, kind: Gateway, name: web}", ""},
		{"a conflict", "infra", gateway("admin"), "ListenerNotProgrammed: no setting takes effect: " + admin},
		{"no certificate", "infra", gateway("bare"), "ListenerNotProgrammed: no setting takes effect: " + bare},
		{"one of two", "infra", gateway("admin") + ", " + gateway("wide"), "PartiallyProgrammed: some settings have no effect: " + admin},
		{
			"a ListenerSet", "tenant", set,
			"ListenerNotProgrammed: no setting takes effect: no listener of ListenerSet tenant/a is served; see their conditions",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Offline(append(keys(), resolvetest.Load(t, base+conflicting(listeners, sets)+"---\n"+
				"kind: SecurityPolicy\napiVersion: gatewright.dev/v1alpha1\nmetadata: {namespace: "+c.namespace+", name: p, generation: 1}\n"+
				"spec: {targetRefs: ["+c.targets+"], authorization: {defaultAction: Deny}}\n")...))
			o := policyOutcome(t, p.graph, store.SecurityPolicy, c.namespace+"/p")
			for _, conditions := range [][]outcome.Condition{o.Conditions, o.Ancestors[0].Conditions} {
				got, state := "", outcome.True
				for _, condition := range conditions {
					switch condition.Type {
					case outcome.Programmed:
						got = condition.Reason + ": " + condition.Message
					case "Accepted":
						state = condition.State
					}
				}
				if got != c.want || state != outcome.True {
					t.Errorf("Programmed is %q, want %q; Accepted is %s", got, c.want, state)
				}
			}
		})
	}
}

// policyOutcome is what became of a policy, apart from what proxies acknowledge.
func policyOutcome(t *testing.T, g *graph, kind store.Kind, key string) outcome.Policy {
	t.Helper()
	for _, p := range g.policyOutcomes {
		if p.kind == kind {
			if o, ok := p.outcomes.Get(nil, key); ok && len(o.Ancestors) > 0 {
				return o
			}
		}
	}
	t.Fatalf("%s %s has no outcome", kind, key)
	return outcome.Policy{}
}

// conflicting is a Gateway with listeners, and ListenerSets with one listener each, both apart by `; `. Routes take all requests and
// connections at the listeners of the Gateway.
func conflicting(listeners, sets string) string {
	text := "kind: Gateway\nmetadata: {namespace: infra, name: web, generation: 1}\nspec:\n  gatewayClassName: gatewright\n" +
		"  allowedListeners: {namespaces: {from: All}}\n  listeners:\n    - {name: plain, port: 8080, protocol: HTTP}\n"
	for l := range strings.SplitSeq(listeners, "; ") {
		text += "    - " + l + "\n"
	}
	if sets != "" {
		for i, l := range strings.Split(sets, "; ") {
			text += "---\nkind: ListenerSet\nmetadata: {namespace: tenant, name: " + string(rune('a'+i)) + ", generation: 1}\n" +
				"spec: {parentRef: {namespace: infra, name: web}, listeners: [" + l + "]}\n"
		}
	}
	return text + `---
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: 1}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: TLSRoute
metadata: {namespace: infra, name: t, generation: 1}
spec: {parentRefs: [{name: web}], hostnames: ['*.corp.example'], rules: [{backendRefs: [{name: v2, port: 80}]}]}
`
}
