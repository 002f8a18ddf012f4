package pipeline

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// repetitive is a route of about 512 KiB whose header edits are repeated for 128 matches of 16 hostnames.
func repetitive(number int) string {
	var b strings.Builder
	var hostnames []string
	for i := range 16 {
		hostnames = append(hostnames, fmt.Sprintf("b%d.bytes-%d.example", i, number))
	}
	fmt.Fprintf(&b, "kind: HTTPRoute\nmetadata: {namespace: infra, name: bytes-%d, generation: 1}\nspec:\n  parentRefs: [{name: web}]\n"+
		"  hostnames: [%s]\n  rules:\n", number, strings.Join(hostnames, ", "))
	for rule := range 2 {
		b.WriteString("  - matches:\n")
		for match := range 64 {
			fmt.Fprintf(&b, "    - path: {type: PathPrefix, value: /b/%d/%d}\n", rule, match)
		}
		b.WriteString("    filters:\n")
		for _, kind := range []string{"requestHeaderModifier", "responseHeaderModifier"} {
			fmt.Fprintf(&b, "    - type: %s\n      %s:\n", strings.ToUpper(kind[:1])+kind[1:], kind)
			for _, operation := range []string{"set", "add"} {
				fmt.Fprintf(&b, "        %s:\n", operation)
				for i := range 16 {
					fmt.Fprintf(&b, "        - {name: x-%s-%d-%d, value: %s}\n", operation, rule, i, strings.Repeat("v", 4000))
				}
			}
		}
		b.WriteString("    backendRefs: [{name: v1, port: 80}]\n")
	}
	return b.String()
}

// hostBytes are the sizes of all virtual hosts, and their versions by name.
func (g *graph) hostBytes() (bytes int, versions map[string]string) {
	versions = map[string]string{}
	for _, id := range g.virtualHosts.Keys(nil) {
		t, _ := g.virtualHosts.Get(nil, id)
		bytes, versions[id.String()] = bytes+t.resource.Bytes(), version(t.resource)
	}
	return bytes, versions
}

// TestRoutesOfManyBytes has routes that would take half a gigabyte each beside others. They answer errors and say why, what it takes to
// find out is little, and nothing else changes.
//
//nolint:paralleltest // it counts what is allocated
func TestRoutesOfManyBytes(t *testing.T) {
	objects := []string{webGateway + hostRoute(0, "h0.example.com")}
	for i := 1; i < 50; i++ {
		objects = append(objects, hostRoute(i, fmt.Sprintf("h%d.example.com", i)))
	}
	p, _ := limited(t, func(*limits.Limits) {}, objects...)
	before, versions := p.graph.hostBytes()
	var large []store.Change
	for number := range 3 {
		large = append(large, resolvetest.Load(t, repetitive(number))...)
	}
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	for _, c := range large {
		p.Put(c)
	}
	p.config.step()
	runtime.ReadMemStats(&end)
	// Without limits it is more than 3 GB. It is more than usual with the race detector.
	if allocated := end.TotalAlloc - start.TotalAlloc; allocated > 256<<20 {
		t.Errorf("%d bytes are allocated", allocated)
	}
	after, now := p.graph.hostBytes()
	if after-before > 4<<20 {
		t.Errorf("the routes take %d bytes of what proxies are sent", after-before)
	}
	for name, version := range versions {
		if now[name] != version {
			t.Errorf("host %s is another", name)
		}
	}
	for number := range 3 {
		name := fmt.Sprintf("bytes-%d", number)
		r, _ := p.graph.routes.Get(nil, "HTTPRoute/infra/"+name)
		accepted := r.Outcome.Parents[0].Conditions[0]
		if accepted.State != outcome.False || !strings.Contains(accepted.Message, "HTTPRoute infra/"+name+" takes 5") ||
			!strings.Contains(accepted.Message, "may take 16777216") || !strings.Contains(accepted.Message, "limit routeBytes") {
			t.Errorf("%s reports %+v", name, accepted)
		}
		host, _ := p.graph.hosts.Get(nil, ir.ParseHostID(fmt.Sprintf("infra/web/80|b7.bytes-%d.example", number)))
		if len(host.Rules) != 128 || host.Rules[0].Fail == nil {
			t.Errorf("its hosts have %d rules", len(host.Rules))
		}
	}
}

// TestNamespacesShareTheBytesOfAGateway has a tenant with large routes on its own hostnames beside another tenant.
func TestNamespacesShareTheBytesOfAGateway(t *testing.T) {
	t.Parallel()
	var objects []string
	for n := range 6 {
		objects = append(objects, strings.Replace(
			withHeader(tenantRoute("a", n, "{path: {value: /}}"), 4000), "[s.example]", fmt.Sprintf("[a%d.example]", n), 1))
	}
	set := limits.Defaults()
	set.GatewayBytes = 25_000
	p := Offline(resolvetest.Load(t, base+tenantsOnAHost(objects...)), WithLimits(set))
	for url, want := range map[string]string{
		"http://s.example/": "b/own", "http://s.example/admin": "b/guarded", "http://a0.example/": "a/own", "http://a5.example/": "error",
	} {
		if got := answered(t, p, url); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", url, got, want)
		}
	}
	r, _ := p.graph.routes.Get(nil, "HTTPRoute/a/r5")
	if got := r.Outcome.Parents[0].Conditions[0].Message; !strings.Contains(got, "limit gatewayBytes") {
		t.Errorf("it reports %q", got)
	}
}

// TestHostnamesWithAWildcardHaveRoomForSoManyBytes has a tenant with large routes at hostnames with a wildcard, all of which are one
// resource, beside another tenant.
func TestHostnamesWithAWildcardHaveRoomForSoManyBytes(t *testing.T) {
	t.Parallel()
	wild := func(route, hostname string) string {
		return strings.Replace(route, "[s.example]", fmt.Sprintf("[%q]", hostname), 1)
	}
	objects := []string{
		wild(tenantRoute("b", 1, "{path: {value: /}}"), "*.b.example"), wild(tenantRoute("b", 2, "{path: {value: /}}"), "*.example"),
	}
	for n := range 4 {
		objects = append(objects, wild(withHeader(tenantRoute("a", n, "{path: {value: /}}"), 4000), fmt.Sprintf("*.a%d.example", n)))
	}
	p, l := limited(t, func(l *limits.Limits) { l.WildcardBytes = 60_000 }, base+tenantsOnAHost(objects...))
	l.refused(t, "a/r3", "limit wildcardBytes")
	for url, want := range map[string]string{
		"http://x.b.example/": "b/own", "http://x.example/": "b/own", "http://s.example/admin": "b/guarded",
		"http://x.a0.example/": "a/own", "http://x.a3.example/": "error",
	} {
		if got := answered(t, p, url); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", url, got, want)
		}
	}
	for _, said := range l.said {
		if strings.HasPrefix(said, "refuse HTTPRoute b/") {
			t.Errorf("another tenant reports it: %s", said)
		}
	}
}

// TestFiltersOfAListenerAreChargedToItsRoutes has a filter of a listener that takes about 100 KiB of each hostname.
func TestFiltersOfAListenerAreChargedToItsRoutes(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("x-%03d-%s", i, strings.Repeat("n", 240)))
	}
	filters := "filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v1, port: 80}, http: " +
		"{allowedResponseHeaders: [" + strings.Join(names, ", ") + "]}}}]}"
	objects := []string{strings.Replace(webGateway, "protocol: HTTP}", "protocol: HTTP, "+filters+"}", 1) + hostRoute(0, "h0.example.com")}
	for i := 1; i < 8; i++ {
		objects = append(objects, hostRoute(i, fmt.Sprintf("h%d.example.com", i)))
	}
	p, _ := limited(t, func(*limits.Limits) {}, objects...)
	bytes, _ := p.graph.hostBytes()
	charged := 0
	for i := range 8 {
		r, _ := p.graph.routes.Get(nil, fmt.Sprintf("HTTPRoute/infra/r%d", i))
		charged += r.ChargedBytes(p.graph.hostInputs.Limits)["infra/web"]
	}
	if charged < bytes || charged > 5*bytes/2 {
		t.Errorf("8 hosts take %d bytes, and %d are charged", bytes, charged)
	}
	p, _ = limited(t, func(l *limits.Limits) { l.NamespaceBytes = bytes / 4 }, objects...)
	if left, _ := p.graph.hostBytes(); left > bytes/2 {
		t.Errorf("the hosts take %d bytes, and twice the limit is %d", left, bytes/2)
	}
	r, _ := p.graph.routes.Get(nil, "HTTPRoute/infra/r7")
	if got := r.Outcome.Parents[0].Conditions[0].Message; !strings.Contains(got, "limit namespaceBytes") {
		t.Errorf("a route that is left out reports %q", got)
	}
}

// TestTheListenerThatHasAHostIsCharged has routes that attach to two listeners of a port, of which the one with the narrower hostname has
// the filter.
func TestTheListenerThatHasAHostIsCharged(t *testing.T) {
	t.Parallel()
	const filters = "filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v1, port: 80}, http: " +
		"{allowedResponseHeaders: [%s]}}}]}"
	guarded := fmt.Sprintf(filters, "x-"+strings.Repeat("n", 250)+", y-"+strings.Repeat("n", 250))
	for _, names := range [][]string{{"a", "b"}, {"b", "a"}} {
		listeners := fmt.Sprintf("{name: %s, port: 80, protocol: HTTP}, {name: %s, port: 80, protocol: HTTP, hostname: '*.example.com', %s}",
			names[0], names[1], guarded)
		p, _ := limited(t, func(*limits.Limits) {},
			strings.Replace(webGateway, "{name: http, port: 80, protocol: HTTP}", listeners, 1)+hostRoute(0, "h0.example.com"))
		bytes, _ := p.graph.hostBytes()
		r, _ := p.graph.routes.Get(nil, "HTTPRoute/infra/r0")
		if charged := r.ChargedBytes(p.graph.hostInputs.Limits)["infra/web"]; charged < bytes {
			t.Errorf("listeners %q: the host takes %d bytes, and %d are charged", names, bytes, charged)
		}
	}
}

// TestWhatAHostTakesIsKnownBefore compares the size of virtual hosts with what is charged to their routes.
func TestWhatAHostTakesIsKnownBefore(t *testing.T) {
	t.Parallel()
	compared, most := 0, 0.0
	compare := func(g *graph, when string) {
		for _, id := range g.hosts.Keys(nil) {
			host, _ := g.hosts.Get(nil, id)
			translated, ok := g.virtualHosts.Get(nil, id)
			if !ok || len(host.Rules) == 0 {
				continue
			}
			compared++
			if got := float64(translated.resource.Bytes()); float64(host.Bytes) < 0.9*got {
				t.Errorf("%s: host %s takes %.0f bytes, and %d are charged", when, id, got, host.Bytes)
			} else {
				most = max(most, float64(host.Bytes)/got)
			}
		}
	}
	for seed := range uint64(4) {
		w, b := fuzzobjects.New(seed, 29), newBoth()
		for step := range steps {
			b.apply(w.Change())
			if b.run(); step%10 == 0 {
				compare(b.config, fmt.Sprintf("seed %d, step %d", seed, step))
			}
		}
	}
	for seed := range uint64(40) {
		b := newBoth()
		b.apply(fuzzobjects.HostileGenerator{Generator: fuzzobjects.New(seed, 30)}.Set(
			func(c store.Change) (store.Change, error) { return c, nil })...)
		b.run()
		compare(b.config, fmt.Sprintf("hostile seed %d", seed))
	}
	g := newGraph()
	for _, c := range resolvetest.Load(t, webGateway+variety()) {
		g.objects.Apply(c)
	}
	g.memo.Run()
	compare(g, "variety")
	t.Logf("%d hosts, of which at most %.1f times their size is charged", compared, most)
	if compared < 300 {
		t.Errorf("%d hosts are too few", compared)
	}
}

// variety is a route with rules that become different numbers of routes, one for each path, and together a tree.
func variety() string {
	value := strings.Repeat("100% ", 100)
	edit := "requestHeaderModifier: {set: [{name: x-a, value: \"" + value + "\"}]}"
	header := "{type: RequestHeaderModifier, " + edit + "}"
	response := "{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: x-b, value: \"" + value + "\"}]}}"
	rewrite := func(path string) string {
		return "{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: " + path + "}}}"
	}
	backend := "backendRefs: [{name: v1, port: 80}]"
	two := func(first, second string) string {
		const backends = "filters: [%s], backendRefs: [{name: v1, port: 80, filters: [%s]}, {name: v2, port: 80, filters: [%s]}]"
		return fmt.Sprintf(backends, header, first, second)
	}
	rules := []string{
		"filters: [" + header + ", " + response + "], " + backend,
		"filters: [" + header + ", " + rewrite("/") + "], " + backend,
		"filters: [" + response + ", {type: RequestRedirect, requestRedirect: {scheme: https}}]",
		"filters: [" + response + ", {type: CORS, cors: {allowOrigins: [\"https://a.example\"]}}], " + backend,
		two(rewrite("/x"), rewrite("/y")),
		two(response, header),
		"filters: [{type: RequestMirror, requestMirror: {backendRef: {name: v2, port: 80}}}], " + backend,
		backend,
	}
	var b strings.Builder
	b.WriteString("kind: HTTPRoute\nmetadata: {namespace: infra, name: variety, generation: 1}\n" +
		"spec:\n  parentRefs: [{name: web}]\n  hostnames: [a.example.com, \"*.example.com\"]\n  rules:\n")
	for i, rule := range rules {
		fmt.Fprintf(&b, "  - {matches: [{path: {type: Exact, value: /exact/%d}}, ", i)
		for n := range 12 {
			fmt.Fprintf(&b, "{path: {value: /prefix/%d/%d}, headers: [{name: x-long-%d, value: %q}]}, ", i, n, n, strings.Repeat("v", 20*n))
		}
		fmt.Fprintf(&b, "{path: {value: /method/%d}, method: GET}, {path: {value: /}, method: PUT}], %s}\n", i, rule)
	}
	return b.String()
}

// TestUsualRoutesAreFarFromLimitsOfBytes: ten thousand usual routes take a small part of what they may.
func TestUsualRoutesAreFarFromLimitsOfBytes(t *testing.T) {
	t.Parallel()
	const usual = 10_000
	s := scenario{n: 1000}
	p := startedWith(s.changes())
	l, total := limits.Defaults(), 0
	for i := range s.n {
		r, _ := p.graph.routes.Get(nil, fmt.Sprintf("HTTPRoute/infra/r%d", i))
		bytes := r.ChargedBytes(&l)["infra/gw"]
		if total += bytes; bytes > l.RouteBytes/1000 {
			t.Errorf("a route takes %d bytes", bytes)
		}
		if r.Outcome.Parents[0].Conditions[0].State != outcome.True {
			t.Errorf("r%d reports %+v", i, r.Outcome.Parents)
		}
	}
	if total = total / s.n * usual; total > l.NamespaceBytes/4 {
		t.Errorf("they take %d bytes of %d", total, l.NamespaceBytes)
	}
}
