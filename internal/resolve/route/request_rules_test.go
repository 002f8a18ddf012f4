package route_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/route"
)

func TestSettingHostIsARewrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "l:80:", httpRoute("r", "1", `  rules:
  - filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: "inner.example:81"}, {name: X-A, value: b}]}}]
    backendRefs:
    - {name: one, port: 80}
    - {name: two, port: 80, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: host, value: two.example}]}}]}`))
	r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
	rule := r.Rules[0]
	if rule.Forward == nil || rule.Forward.Rewrite.Hostname != "inner.example:81" ||
		rule.Forward.Backends[1].Rewrite.Hostname != "two.example" {
		t.Fatalf("rule: %+v", rule)
	}
	if set := rule.RequestHeaders; set == nil || len(set.Set) != 1 || set.Set[0].Name != "X-A" ||
		!rule.Forward.Backends[1].RequestHeaders.IsZero() {
		t.Errorf("headers: %+v", rule.RequestHeaders)
	}
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	cors := "filters: [{type: CORS, cors: {allowOrigins: ['https://app.example']}}], backendRefs: [{name: one, port: 80}]"
	asked := []string{"origin=.+", "access-control-request-method=POST"}
	own := httpRoute("r", "1", "  rules: [{matches: [{path: {value: /api}, method: POST}], "+cors+"}]")
	f := newFixture(
		t,
		"l:80:",
		own+httpRoute("wide", "1", "  rules: [{matches: [{path: {value: /api}}], backendRefs: [{name: two, port: 80}]}]"),
	)
	r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
	if len(r.Rules) != 2 || r.Rules[1].Policy == nil || r.Rules[1].Policy.CORS == nil || r.Rules[1].Policy.Auth != nil ||
		r.Rules[1].Match.Method != ir.MethodOptions {
		t.Fatalf("rules: %+v", r.Rules)
	}
	if got := f.ask("OPTIONS", "/api", asked...); got != "" {
		t.Errorf("a preflight goes to %q, and not to the filter that answers it", got)
	}
	for _, other := range []string{"access-control-request-method=PUT", ""} {
		if got := f.ask("OPTIONS", "/api", "origin=.+", other); got != "infra/two/80" {
			t.Errorf("a request that asks for something else (%q) goes to %q", other, got)
		}
	}
	f = newFixture(
		t,
		"l:80:",
		own+httpRoute("z", "2", "  rules: [{matches: [{path: {value: /api}, method: OPTIONS}], backendRefs: [{name: two, port: 80}]}]"),
	)
	if got := f.ask("OPTIONS", "/api", asked...); got != "infra/two/80" {
		t.Errorf("a rule for OPTIONS does not get what it names: %q", got)
	}
}

// ask is [fixture.request] with a method.
func (f fixture) ask(method, path string, headers ...string) string {
	all := limits.Defaults()
	in := route.Hosts{Tables: f.tables, Routes: f.routes, ByDomain: f.byHost, Repeats: f.repeats, Limits: &all}
	headers = append(headers, ":method="+method)
	for _, rule := range in.VirtualHost(nil, ir.ParseTableID("infra/gw/80").Host("*")).Rules {
		if matches(rule.Match, path, headers) {
			return describe(rule)
		}
	}
	return "404"
}

func TestAppProtocols(t *testing.T) {
	t.Parallel()
	service := func(protocol string) string {
		return "kind: Service\nmetadata: {namespace: infra, name: s}\nspec: {ports: [{name: p, port: 80, appProtocol: " + protocol + "}]}\n---\n"
	}
	policy := "kind: BackendTLSPolicy\nmetadata: {namespace: infra, name: p}\nspec:\n  targetRefs: [{group: '', kind: Service, name: s}]\n" +
		"  validation: {hostname: s.example, wellKnownCACertificates: System}\n---\n"
	const none = "UnsupportedProtocol"
	for _, c := range []struct{ protocol, objects, http, grpc string }{
		{"kubernetes.io/h2c", "", "infra/s/80/http2", "infra/s/80/http2"},
		{"grpc", "", "infra/s/80/http2", "infra/s/80/http2"},
		{"http2", "", "infra/s/80/http2", "infra/s/80/http2"},
		{"h2c", "", "infra/s/80/http2", "infra/s/80/http2"},
		{"http", "", "infra/s/80", "infra/s/80/http2"},
		{"kubernetes.io/ws", "", "infra/s/80", none},
		{"kubernetes.io/wss", policy, "infra/s/80/wss", none},
		{"kubernetes.io/wss", "", none, none},
		{"https", "", none, none},
		{"HTTPS", "", none, none},
		{"tls", "", none, none},
		{"https", policy, "infra/s/80", "infra/s/80/http2"},
	} {
		t.Run(c.protocol, func(t *testing.T) {
			t.Parallel()
			rules := "  rules: [{backendRefs: [{name: s, port: 80}]}]"
			f := newFixture(t, "l:80:", service(c.protocol)+c.objects+httpRoute("r", "1", rules)+grpcRoute("r", "1", rules))
			for key, want := range map[string]string{"HTTPRoute/infra/r": c.http, "GRPCRoute/infra/r": c.grpc} {
				r, _ := f.routes.Get(nil, key)
				got := describe(r.Rules[0].Rule)
				for _, condition := range r.Outcome.Parents[0].Conditions {
					if condition.Type == "ResolvedRefs" && condition.State == outcome.False {
						got = condition.Reason
					}
				}
				if got != want {
					t.Errorf("%s: got %s, want %s", key, got, want)
				}
			}
		})
	}
}
