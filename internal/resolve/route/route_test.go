package route_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// fixture is a Gateway infra/gw with the given listeners, and whatever objects a case adds.
type fixture struct {
	objects *store.Objects
	parents *store.Table[gateway.Parent]
	tables  *store.Table[[]gateway.ParentListener]
	repeats *store.Table[limits.Cutoff]
	routes  *store.Table[route.Resolved]
	byHost  *store.Index[route.Resolved]
}

const services = `
kind: Service
metadata: {namespace: infra, name: one}
spec: {ports: [{port: 80}]}
---
kind: Service
metadata: {namespace: infra, name: two}
spec: {ports: [{port: 80}, {port: 81, appProtocol: kubernetes.io/h2c}]}
---
kind: Service
metadata: {namespace: other, name: far}
spec: {ports: [{port: 80}]}
---
`

func newFixture(t *testing.T, listeners, objects string) fixture {
	t.Helper()
	s := store.New()
	f := fixture{
		objects: resolvetest.Objects(t, services+objects),
		parents: store.NewTable[gateway.Parent](s, "parent"),
		tables:  store.NewTable[[]gateway.ParentListener](s, "table"),
		routes:  store.NewTable[route.Resolved](s, "route"),
		repeats: store.NewTable[limits.Cutoff](s, "repeats"),
	}
	f.byHost = store.NewIndex(f.routes, "byHost", func(_ string, r route.Resolved) []string { return r.HostKeys() })
	parent := parse(listeners)
	f.parents.Set("infra/gw", parent)
	for _, l := range parent.Listeners {
		sharing, _ := f.tables.Get(nil, l.Table)
		f.tables.Set(l.Table, append(sharing, l))
	}
	in := route.Inputs{Objects: f.objects, Parents: f.parents}
	for _, key := range f.objects.HTTPRoutes.Keys(nil) {
		f.routes.Set("HTTPRoute/"+key, route.HTTP(nil, in, key))
	}
	for _, key := range f.objects.GRPCRoutes.Keys(nil) {
		f.routes.Set("GRPCRoute/"+key, route.GRPC(nil, in, key))
	}
	return f
}

// parse reads listeners written as `name:port:hostname`, separated by spaces.
func parse(text string) gateway.Parent {
	parent := gateway.Parent{Ours: true, Accepted: true, Gateway: "infra/gw"}
	for _, field := range strings.Fields(text) {
		parts := strings.Split(field, ":")
		port, _ := strconv.ParseInt(parts[1], 10, 32)
		parent.Listeners = append(parent.Listeners, gateway.ParentListener{
			ID: parts[0], Name: parts[0], Namespaces: gateway.NamespaceRule{Home: "infra"}, Port: int32(port), Hostname: parts[2], Protocol: ir.HTTP, Table: "infra/gw/" + parts[1], Accepted: true,
			Kinds: []outcome.RouteKind{{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"}, {Group: "gateway.networking.k8s.io", Kind: "GRPCRoute"}},
		})
	}
	return parent
}

// request answers one request as a proxy would, with the name of the backend or what else happens. Whether hosts are looked up by
// themselves makes no difference.
func (f fixture) request(host, path string, headers ...string) string {
	repeated := f.answer(host, path, headers)
	f.lookUp(true)
	defer f.lookUp(false)
	if byHost := f.answer(host, path, headers); byHost != repeated {
		return fmt.Sprintf("%s where rules are repeated, %s where hosts are looked up by themselves", repeated, byHost)
	}
	return repeated
}

// lookUp says whether hosts are looked up by themselves.
func (f fixture) lookUp(byHost bool) {
	for _, table := range f.tables.Keys(nil) {
		listeners, _ := f.tables.Get(nil, table)
		listeners = slices.Clone(listeners)
		for i := range listeners {
			listeners[i].ByHost = byHost
		}
		f.tables.Set(table, listeners)
	}
}

func (f fixture) answer(host, path string, headers []string) string {
	domains := map[string]bool{}
	for _, key := range f.routes.Keys(nil) {
		r, _ := f.routes.Get(nil, key)
		for _, k := range r.VirtualHostKeys() {
			domains[strings.TrimPrefix(k, "infra/gw/80|")] = true
		}
	}
	parent, _ := f.parents.Get(nil, "infra/gw")
	for _, l := range parent.Listeners {
		domains[map[bool]string{true: "*", false: l.Hostname}[l.Hostname == ""]] = true
	}
	best := ""
	for domain := range domains {
		if (domain == "*" || strings.HasPrefix(domain, "*.") && strings.HasSuffix(host, domain[1:])) && len(domain) > len(best) {
			best = domain
		}
	}
	all := limits.Defaults()
	in := route.Hosts{Tables: f.tables, Routes: f.routes, ByHost: f.byHost, Repeats: f.repeats, Limits: &all}
	candidates := []string{best}
	if domains[host] {
		candidates = []string{host, best}
	}
	for _, domain := range candidates {
		vh := in.VirtualHost(nil, route.VirtualHostKey("infra/gw/80", domain))
		for _, rule := range vh.Rules {
			if matches(rule.Match, path, headers) {
				return describe(rule)
			}
		}
		if !vh.FallsThrough {
			break
		}
	}
	return "404"
}

// matches knows headers as `name=value`, the method among them as `:method=POST`; it is GET otherwise.
func matches(m ir.Match, path string, headers []string) bool {
	asked := m.Headers
	if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, ":method=") }) {
		headers = append(slices.Clone(headers), ":method=GET")
	}
	if m.Method != "" {
		asked = append(slices.Clone(asked), ir.NamedMatch{Name: ":method", StringMatch: ir.StringMatch{Value: m.Method}})
	}
	for _, h := range asked {
		if !slices.ContainsFunc(headers, func(given string) bool {
			name, value, _ := strings.Cut(given, "=")
			return name == h.Name && (value == h.Value || h.Kind == ir.Regex && whole(h.Value).MatchString(value))
		}) {
			return false
		}
	}
	switch m.Path.Kind {
	case ir.Exact:
		return path == m.Path.Value
	case ir.Prefix:
		return m.Path.Value == "/" || path == m.Path.Value || strings.HasPrefix(path, m.Path.Value+"/")
	default:
		return whole(m.Path.Value).MatchString(path)
	}
}

func whole(expression string) *regexp.Regexp { return regexp.MustCompile("^(?:" + expression + ")$") }

func describe(rule ir.Rule) string {
	switch {
	case rule.Redirect != nil:
		return "redirect to " + rule.Redirect.Hostname + ":" + strconv.Itoa(int(rule.Redirect.Port))
	case rule.Fail != nil:
		return strconv.Itoa(rule.Fail.StatusCode)
	default:
		return rule.Forward.Backends[0].Backend
	}
}

// httpRoute writes an HTTPRoute in namespace infra that names the Gateway as its parent.
func httpRoute(name, created, rest string) string {
	return "kind: HTTPRoute\nmetadata: {namespace: infra, name: " + name + ", creationTimestamp: \"2026-01-0" + created + "T00:00:00Z\"}\n" +
		"spec:\n  parentRefs: [{name: gw}]\n" + rest + "\n---\n"
}

// grpcRoute is [httpRoute] for a GRPCRoute.
func grpcRoute(name, created, rest string) string {
	return strings.Replace(httpRoute(name, created, rest), "kind: HTTPRoute", "kind: GRPCRoute", 1)
}

// requests lists, for routes and a listener, where a request goes.
var requests = []struct {
	name, listeners, objects, host, path, want string
}{
	{
		"a route without hostnames answers every host", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: one, port: 80}]}]"), "x.org", "/", "infra/one/80",
	},
	{
		"the longer prefix wins", "a:80:",
		httpRoute("r", "1", "  rules: [{matches: [{path: {value: /}}], backendRefs: [{name: one, port: 80}]}, {matches: [{path: {value: /a}}], backendRefs: [{name: two, port: 80}]}]"),
		"x.org", "/a/b", "infra/two/80",
	},
	{
		"a prefix ends at a slash", "a:80:",
		httpRoute("r", "1", "  rules: [{matches: [{path: {value: /a/}}], backendRefs: [{name: one, port: 80}]}]"), "x.org", "/ab", "404",
	},
	{
		"an exact path comes before a prefix", "a:80:",
		httpRoute("r", "1", "  rules: [{matches: [{path: {value: /a}}], backendRefs: [{name: one, port: 80}]}, {matches: [{path: {type: Exact, value: /a}}], backendRefs: [{name: two, port: 80}]}]"),
		"x.org", "/a", "infra/two/80",
	},
	{
		"a regular expression comes before the prefix of everything", "a:80:",
		httpRoute("r", "1", "  rules: [{matches: [{path: {value: /}}], backendRefs: [{name: one, port: 80}]}, {matches: [{path: {type: RegularExpression, value: .*regex.*}}], backendRefs: [{name: two, port: 80}]}]"),
		"x.org", "/regex", "infra/two/80",
	},
	{
		"of equal matches the older route wins", "a:80:",
		httpRoute("a", "2", "  rules: [{backendRefs: [{name: one, port: 80}]}]") + httpRoute("b", "1", "  rules: [{backendRefs: [{name: two, port: 80}]}]"),
		"x.org", "/", "infra/two/80",
	},
	{
		"of equal age the first name wins", "a:80:",
		httpRoute("b", "1", "  rules: [{backendRefs: [{name: one, port: 80}]}]") + httpRoute("a", "1", "  rules: [{backendRefs: [{name: two, port: 80}]}]"),
		"x.org", "/", "infra/two/80",
	},
	{
		"the route's own hostname decides, not what the listener leaves of it", "a:80:abc.example.com",
		httpRoute("a", "1", "  hostnames: ['*.example.com']\n  rules: [{matches: [{path: {value: /path/longer}}], backendRefs: [{name: one, port: 80}]}]") +
			httpRoute("b", "2", "  hostnames: [abc.example.com]\n  rules: [{matches: [{path: {value: /path}}], backendRefs: [{name: two, port: 80}]}]"),
		"abc.example.com", "/path/longer", "infra/two/80",
	},
	{
		"what the most specific route does not match falls through", "a:80:",
		httpRoute("a", "1", "  hostnames: ['*.example.com']\n  rules: [{backendRefs: [{name: one, port: 80}]}]") +
			httpRoute("b", "2", "  hostnames: [abc.example.com]\n  rules: [{matches: [{path: {value: /path}}], backendRefs: [{name: two, port: 80}]}]"),
		"abc.example.com", "/else", "infra/one/80",
	},
	{
		"a listener keeps its hostname from a wider one", "wide:80:*.example.com narrow:80:abc.example.com",
		strings.Replace(httpRoute("a", "1", "  rules: [{backendRefs: [{name: one, port: 80}]}]"), "{name: gw}", "{name: gw, sectionName: wide}", 1),
		"abc.example.com", "/", "404",
	},
	{
		"a rule whose backends are all missing answers 500", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: none, port: 80}]}]"), "x.org", "/", "500",
	},
	{
		"a rule with a filter that is not served answers 500 and the others go on", "a:80:",
		httpRoute("r", "1", "  rules: [{matches: [{path: {value: /auth}}], filters: [{type: ExternalAuth}], backendRefs: [{name: one, port: 80}]}, {backendRefs: [{name: two, port: 80}]}]"),
		"x.org", "/auth", "500",
	},
	{
		"a route with one rule that is not served keeps its requests from a wider one", "a:80:",
		httpRoute("wide", "1", "  hostnames: [x.org]\n  rules: [{backendRefs: [{name: one, port: 80}]}]") +
			httpRoute("r", "2", "  hostnames: [x.org]\n  rules: [{matches: [{path: {value: /admin}}], filters: [{type: ExtensionRef, extensionRef: {group: x.example, kind: Auth, name: oidc}}], backendRefs: [{name: one, port: 80}]}]"),
		"x.org", "/admin/x", "500",
	},
	{
		"a route with one rule that is not served keeps its requests from a wider hostname", "a:80:",
		httpRoute("wide", "1", "  rules: [{backendRefs: [{name: one, port: 80}]}]") +
			httpRoute("r", "2", "  hostnames: [x.org]\n  rules: [{filters: [{type: ExtensionRef, extensionRef: {group: x.example, kind: Auth, name: oidc}}], backendRefs: [{name: one, port: 80}]}]"),
		"x.org", "/", "500",
	},
	{
		"a GRPCRoute with one rule that is not served keeps its calls and answers 503", "a:80:",
		grpcRoute("wide", "1", "  rules: [{backendRefs: [{name: two, port: 81}]}]") +
			grpcRoute("r", "2", "  rules: [{matches: [{method: {service: a.B}}], filters: [{type: ExtensionRef, extensionRef: {group: x.example, kind: Auth, name: oidc}}], backendRefs: [{name: two, port: 81}]}]"),
		"x.org", "/a.B/C", "503",
	},
	{
		"a rule of a GRPCRoute whose backends are all missing answers 503", "a:80:",
		grpcRoute("r", "1", "  rules: [{backendRefs: [{name: none, port: 80}]}]"), "x.org", "/a.B/C", "503",
	},
	{
		"removing the Host header is not served", "a:80:",
		httpRoute("r", "1", "  rules: [{matches: [{path: {value: /x}}], filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [Host]}}], backendRefs: [{name: one, port: 80}]}, {backendRefs: [{name: two, port: 80}]}]"),
		"x.org", "/x", "500",
	},
	{
		"a redirect names the listener's port", "a:80: b:8080:",
		httpRoute("r", "1", "  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: to.org}}]}]"), "x.org", "/", "redirect to to.org:0",
	},
	{
		"a backend elsewhere needs a grant", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: far, namespace: other, port: 80}]}]"), "x.org", "/", "500",
	},
	{
		"a grant allows a backend elsewhere", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: far, namespace: other, port: 80}]}]") +
			"kind: ReferenceGrant\nmetadata: {namespace: other, name: g}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: infra}], to: [{group: '', kind: Service}]}\n",
		"x.org", "/", "other/far/80",
	},
	{
		"a Service may ask for HTTP/2", "a:80:",
		httpRoute("r", "1", "  rules: [{backendRefs: [{name: two, port: 81}]}]"), "x.org", "/", "infra/two/81/http2",
	},
	{
		"a gRPC method is a path", "a:80:",
		"kind: GRPCRoute\nmetadata: {namespace: infra, name: g}\nspec:\n  parentRefs: [{name: gw}]\n  rules: [{matches: [{method: {service: pkg.S, method: Get}}], backendRefs: [{name: one, port: 80}]}]",
		"x.org", "/pkg.S/Get", "infra/one/80/http2",
	},
}

func TestRequestsReachTheirBackends(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := newFixture(t, c.listeners, c.objects).request(c.host, c.path); got != c.want {
				t.Errorf("GET %s%s → %s, want %s", c.host, c.path, got, c.want)
			}
		})
	}
}

func TestParentConditions(t *testing.T) {
	t.Parallel()
	const rules = "  rules: [{backendRefs: [{name: one, port: 80}]}]"
	for _, c := range []struct {
		name, listeners, object, condition, reason string
		state                                      outcome.State
	}{
		{"a route that attaches is accepted", "a:80:", httpRoute("r", "1", rules), "Accepted", "Accepted", outcome.True},
		{
			"a section that does not exist", "a:80:", strings.Replace(httpRoute("r", "1", rules), "{name: gw}", "{name: gw, sectionName: b}", 1),
			"Accepted", "NoMatchingParent", outcome.False,
		},
		{
			"a hostname that no listener has", "a:80:x.org", httpRoute("r", "1", "  hostnames: [y.org]\n"+rules),
			"Accepted", "NoMatchingListenerHostname", outcome.False,
		},
		{
			"a namespace that is not let in", "a:80:",
			strings.Replace(strings.Replace(httpRoute("r", "1", rules), "namespace: infra", "namespace: app", 1), "{name: gw}", "{name: gw, namespace: infra}", 1),
			"Accepted", "NotAllowedByListeners", outcome.False,
		},
		{"a Service that is missing", "a:80:", httpRoute("r", "1", "  rules: [{backendRefs: [{name: none, port: 80}]}]"), "ResolvedRefs", "BackendNotFound", outcome.False},
		{"a kind that is not served", "a:80:", httpRoute("r", "1", "  rules: [{backendRefs: [{name: x, kind: Unknown, port: 80}]}]"), "ResolvedRefs", "InvalidKind", outcome.False},
		{
			"no rule can be served", "a:80:", httpRoute("r", "1", "  rules: [{filters: [{type: ExternalAuth}]}]"),
			"Accepted", "UnsupportedValue", outcome.False,
		},
		{
			"one rule of two can not be served", "a:80:", httpRoute("r", "1", "  rules: [{matches: [{path: {type: RegularExpression, value: '('}}]}, {backendRefs: [{name: one, port: 80}]}]"),
			"PartiallyInvalid", "UnsupportedValue", outcome.True,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.listeners, c.object)
			key := f.routes.Keys(nil)[0]
			r, _ := f.routes.Get(nil, key)
			for _, condition := range r.Outcome.Parents[0].Conditions {
				if condition.Type == c.condition {
					if condition.State != c.state || condition.Reason != c.reason {
						t.Errorf("%s is %s (%s: %s), want %s (%s)", c.condition, condition.State, condition.Reason, condition.Message, c.state, c.reason)
					}
					return
				}
			}
			t.Errorf("there is no condition %s in %+v", c.condition, r.Outcome)
		})
	}
}

func TestSettingHostIsARewrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "l:80:", httpRoute("r", "1", `  rules:
  - filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: "inner.example:81"}, {name: X-A, value: b}]}}]
    backendRefs:
    - {name: one, port: 80}
    - {name: two, port: 80, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: host, value: two.example}]}}]}`))
	r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
	rule := r.Rules[0]
	if rule.Forward == nil || rule.Forward.Rewrite.Hostname != "inner.example:81" || rule.Forward.Backends[1].Rewrite.Hostname != "two.example" {
		t.Fatalf("rule: %+v", rule)
	}
	if set := rule.RequestHeaders.Set; len(set) != 1 || set[0].Name != "X-A" || !rule.Forward.Backends[1].RequestHeaders.IsZero() {
		t.Errorf("headers: %+v", rule.RequestHeaders)
	}
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	cors := "filters: [{type: CORS, cors: {allowOrigins: ['https://app.example']}}], backendRefs: [{name: one, port: 80}]"
	asked := []string{"origin=.+", "access-control-request-method=POST"}
	own := httpRoute("r", "1", "  rules: [{matches: [{path: {value: /api}, method: POST}], "+cors+"}]")
	f := newFixture(t, "l:80:", own+httpRoute("wide", "1", "  rules: [{matches: [{path: {value: /api}}], backendRefs: [{name: two, port: 80}]}]"))
	r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
	if len(r.Rules) != 2 || r.Rules[1].CORS == nil || r.Rules[1].Auth != nil || r.Rules[1].Match.Method != ir.MethodOptions {
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
	f = newFixture(t, "l:80:", own+httpRoute("z", "2", "  rules: [{matches: [{path: {value: /api}, method: OPTIONS}], backendRefs: [{name: two, port: 80}]}]"))
	if got := f.ask("OPTIONS", "/api", asked...); got != "infra/two/80" {
		t.Errorf("a rule for OPTIONS does not get what it names: %q", got)
	}
}

// ask is [fixture.request] with a method.
func (f fixture) ask(method, path string, headers ...string) string {
	all := limits.Defaults()
	in := route.Hosts{Tables: f.tables, Routes: f.routes, ByHost: f.byHost, Repeats: f.repeats, Limits: &all}
	headers = append(headers, ":method="+method)
	for _, rule := range in.VirtualHost(nil, route.VirtualHostKey("infra/gw/80", "*")).Rules {
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
