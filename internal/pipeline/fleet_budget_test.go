package pipeline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

// tenantHosts is a route of namespace a or b, of that age, with hostnames and a backend.
func tenantHosts(namespace string, number int, backend, hostnames string) string {
	route := strings.Replace(tenantRoute(namespace, number, "{path: {value: /}}"), "[s.example]", "["+hostnames+"]", 1)
	return strings.Replace(route, "name: own", "name: "+backend, 1)
}

// reports checks what a route says in its condition Accepted.
func reports(t *testing.T, p *Pipeline, name, word string) {
	t.Helper()
	r, _ := p.graph.routes.Get(nil, "HTTPRoute/"+name)
	if got := r.Outcome.Parents[0].Conditions[0]; got.State != outcome.False || !strings.Contains(got.Message, word) {
		t.Errorf("%s reports %+v, want %q", name, got, word)
	}
}

func takenAsTheyAre(t *testing.T, p *Pipeline, names ...string) {
	t.Helper()
	for _, name := range names {
		r, _ := p.graph.routes.Get(nil, "HTTPRoute/"+name)
		if got := r.Outcome.Parents[0].Conditions[0]; got.State != outcome.True {
			t.Errorf("%s reports %+v", name, got)
		}
	}
}

// listedNames are the hostnames and backends that proxies of Gateway infra/web list.
func (g *graph) listedNames() (hostnames, backends int) {
	for _, id := range g.virtualHosts.Keys(nil) {
		if id.Table.Gateway == "infra/web" && id.Domain != "*" {
			hostnames++
		}
	}
	seen := map[ir.Backend]bool{}
	for _, key := range g.routes.Keys(nil) {
		r, _ := g.routes.Get(nil, key)
		for _, b := range r.GatewayBackends() {
			seen[b.Backend] = true
		}
	}
	return hostnames, len(seen)
}

// TestNamespacesShareTheHostnamesOfAGateway has a tenant with many hostnames beside another tenant.
func TestNamespacesShareTheHostnamesOfAGateway(t *testing.T) {
	t.Parallel()
	var objects []string
	for n := range 4 {
		objects = append(objects, tenantHosts("a", n, "own", fmt.Sprintf("a%d.example, x%d.example", n, n)))
	}
	// It takes no hostname that an older route does not have.
	objects = append(objects, tenantHosts("a", 7, "own", "x0.example, a1.example"), tenantHosts("b", 8, "own", "b.example"))
	p, _ := limited(t, func(l *limits.Limits) { l.GatewayHostnames = 6 }, base+tenantsOnAHost(objects...))
	for url, want := range map[string]string{
		"http://s.example/": "b/own", "http://s.example/admin": "b/guarded", "http://b.example/": "b/own",
		"http://a0.example/": "a/own", "http://x0.example/": "a/own", "http://a1.example/": "a/own",
		// There is room for as many again that only answer errors.
		"http://a2.example/": "error", "http://x3.example/": "error",
	} {
		if got := answered(t, p, url); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", url, got, want)
		}
	}
	reports(t, p, "a/r2", "the proxies of Gateway infra/web take 6 hostnames of the routes of all namespaces, and namespace a has more")
	reports(t, p, "a/r2", "limit gatewayHostnames")
	takenAsTheyAre(t, p, "b/site", "b/admin", "b/r8", "a/r7")
}

// TestHostnamesBeyondTwiceTheLimitAreLeftOut has a tenant with more hostnames than there is room for even if they only answer errors.
func TestHostnamesBeyondTwiceTheLimitAreLeftOut(t *testing.T) {
	t.Parallel()
	var objects []string
	for n := range 20 {
		objects = append(objects, tenantHosts("a", n, "own", fmt.Sprintf("a%d.example", n)))
	}
	p, _ := limited(t, func(l *limits.Limits) { l.GatewayHostnames = 6 }, base+tenantsOnAHost(objects...))
	reports(t, p, "a/r19", "is left out")
	reports(t, p, "a/r0", "so all its routes answer 500")
	for url, want := range map[string]string{
		"http://s.example/": "b/own", "http://a0.example/": "error", "http://a19.example/": "not found",
	} {
		if got := answered(t, p, url); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", url, got, want)
		}
	}
	if hostnames, _ := p.graph.listedNames(); hostnames > 12 {
		t.Errorf("proxies have %d hostnames", hostnames)
	}
}

// TestNamespacesShareTheBackendsOfAGateway has a tenant with many backends beside another tenant.
func TestNamespacesShareTheBackendsOfAGateway(t *testing.T) {
	t.Parallel()
	objects := []string{}
	for n := range 6 {
		objects = append(objects, fmt.Sprintf("\nkind: Service\nmetadata: {namespace: a, name: s%d}\nspec: {ports: [{port: 80}]}\n", n),
			tenantHosts("a", n, fmt.Sprintf("s%d", n), fmt.Sprintf("a%d.example", n)))
	}
	objects = append(objects, tenantHosts("a", 7, "s0", "a7.example"))
	p, _ := limited(t, func(l *limits.Limits) { l.GatewayBackends = 4 }, base+tenantsOnAHost(objects...))
	reports(t, p, "a/r5", "limit gatewayBackends")
	for url, want := range map[string]string{
		"http://s.example/admin": "b/guarded", "http://a0.example/": "a/s0", "http://a7.example/": "a/s0", "http://a5.example/": "error",
	} {
		if got := answered(t, p, url); !strings.Contains(got, want) {
			t.Errorf("%s answers %s, want %s", url, got, want)
		}
	}
	if _, backends := p.graph.listedNames(); backends > 4 {
		t.Errorf("proxies have %d backends", backends)
	}
}

// TestLongNamesCountMoreThanOnce has a hostname that takes more than 128 characters with the Gateway.
func TestLongNamesCountMoreThanOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(strings.Repeat("l", 49)+".", 4) + "example"
	p, _ := limited(t, func(l *limits.Limits) { l.GatewayHostnames = 3 },
		base+tenantsOnAHost(tenantHosts("a", 0, "own", long), tenantHosts("a", 1, "own", "short.example")))
	reports(t, p, "a/r1", "limit gatewayHostnames")
	if got := answered(t, p, "http://"+long+"/"); !strings.Contains(got, "a/own") {
		t.Errorf("the older route answers %s", got)
	}
}

// TestGatewaysThatShareProxiesShareTheirLimits has two Gateways on the same proxies, each with a third of the hostnames of one tenant.
func TestGatewaysThatShareProxiesShareTheirLimits(t *testing.T) {
	t.Parallel()
	const class = `
kind: ProxyConfig
metadata: {namespace: infra, name: class}
spec: {placement: %s}
---
kind: GatewayClass
metadata: {name: many, uid: c}
spec:
  controllerName: gatewright.dev/gateway-controller
  parametersRef: {group: gatewright.dev, kind: ProxyConfig, namespace: infra, name: class}
---
`
	const gateway = `
kind: Gateway
metadata: {namespace: infra, name: %s, generation: 1, uid: %s}
spec: {gatewayClassName: many, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
`
	for placement, wanted := range map[string]string{"Shared": "limit", "GatewayNamespace": ""} {
		for name, limit := range map[string]func(*limits.Limits){
			"gatewayHostnames": func(l *limits.Limits) { l.GatewayHostnames = 5 },
			"routes":           func(l *limits.Limits) { l.Routes = 5 },
			"gatewayBytes":     func(l *limits.Limits) { l.GatewayBytes = 4000 },
		} {
			objects := []string{fmt.Sprintf(base+class, placement) + fmt.Sprintf(gateway, "one", "1") + fmt.Sprintf(gateway, "two", "2")}
			for i := range 6 {
				parent := []string{"one", "two"}[i%2]
				objects = append(objects, strings.Replace(hostRoute(i, fmt.Sprintf("h%d.example.com", i)), "{name: web}", "{name: "+parent+"}", 1))
			}
			set := limits.Defaults()
			limit(&set)
			p := Offline(resolvetest.Load(t, strings.Join(objects, "\n---\n")), WithLimits(set), WithSystemNamespace("gatewright-system"))
			r, _ := p.graph.routes.Get(nil, "HTTPRoute/infra/r5")
			if got := r.Outcome.Parents[0].Conditions[0].Message; strings.Contains(got, "limit "+name) != (wanted != "") {
				t.Errorf("%s, %s: the youngest route reports %q", placement, name, got)
			}
		}
	}
}

// TestNoMoreNamesThanALimitSays has random tenants, and checks what proxies list, and that who stays within a share loses nothing.
func TestNoMoreNamesThanALimitSays(t *testing.T) {
	t.Parallel()
	const hostnameLimit, backendLimit = 8, 6
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 54)) //nolint:gosec // a test
		objects := []string{"\nkind: Service\nmetadata: {namespace: b, name: own}\nspec: {ports: [{port: 80}]}\n"}
		for n := range 6 {
			objects = append(objects, fmt.Sprintf("\nkind: Service\nmetadata: {namespace: a, name: s%d}\nspec: {ports: [{port: 80}]}\n", n))
		}
		for n := range 1 + random.IntN(16) {
			var hostnames []string
			for range 1 + random.IntN(3) {
				hostnames = append(hostnames, fmt.Sprintf("a%d.example", random.IntN(24)))
			}
			objects = append(objects, tenantHosts("a", n, fmt.Sprintf("s%d", random.IntN(8)), strings.Join(hostnames, ", ")))
		}
		p, _ := limited(t, func(l *limits.Limits) { l.GatewayHostnames, l.GatewayBackends = hostnameLimit, backendLimit },
			base+tenantsOnAHost(objects...))
		hostnames, backends := p.graph.listedNames()
		if hostnames > 2*hostnameLimit || backends > backendLimit {
			t.Errorf("seed %d: proxies have %d hostnames and %d backends", seed, hostnames, backends)
		}
		for url, want := range map[string]string{"http://s.example/": "b/own", "http://s.example/admin": "b/guarded"} {
			if got := answered(t, p, url); !strings.Contains(got, want) {
				t.Errorf("seed %d: %s answers %s, want %s", seed, url, got, want)
			}
		}
		takenAsTheyAre(t, p, "b/site", "b/admin")
	}
}

// TestTheBytesOfANamespaceAreThoseOfAllGateways has a tenant with a route at each of several Gateways, and another tenant at one of them.
func TestTheBytesOfANamespaceAreThoseOfAllGateways(t *testing.T) {
	t.Parallel()
	objects := []string{tenantsOnAHost()}
	for n := range 6 {
		objects = append(objects,
			strings.Replace(sharedGateway, "name: web", fmt.Sprintf("name: web%d", n), 1),
			strings.Replace(withHeader(tenantRoute("a", n, "{path: {value: /}}"), 4000), "name: web", fmt.Sprintf("name: web%d", n), 1))
	}
	p, _ := limited(t, func(l *limits.Limits) { l.NamespaceBytes = 25_000 }, base+strings.Join(objects, "\n---\n"))
	reports(t, p, "a/r5", "the proxies of all Gateways take 25000 bytes of the routes of namespace a")
	for n, want := range map[int]string{0: "a/own", 3: "a/own", 5: "error"} {
		r, _ := p.graph.hosts.Get(nil, ir.TableID{Gateway: fmt.Sprintf("infra/web%d", n), Port: 80}.Host("s.example"))
		if got := len(r.Rules) == 1 && r.Rules[0].Fail == nil; got != (want != "error") {
			t.Errorf("Gateway web%d answers %+v, want %s", n, r.Rules, want)
		}
	}
	takenAsTheyAre(t, p, "b/site", "b/admin")
}
