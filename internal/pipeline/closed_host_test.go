package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// routeFor is a route for one hostname.
func routeFor(name string, generation int, host, path string) string {
	return fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: infra, name: %s, generation: %d}
spec:
  parentRefs: [{name: web}]
  hostnames: ["%s"]
  rules: [{matches: [{path: {value: %s}}], backendRefs: [{name: v1, port: 80}]}]
`, name, generation, host, path)
}

// nackDomain has a proxy of Gateway infra/web reject a host as it is now.
func nackDomain(p *Pipeline, domain string, change func(*xds.NACK)) {
	nackDomainBy(p, "a", domain, change)
}

// nackDomainBy has a proxy do that.
func nackDomainBy(p *Pipeline, pod, domain string, change func(*xds.NACK)) {
	current, _ := p.graph.virtualHosts.Get(nil, ir.ParseTableID("infra/web/80").Host(domain))
	r := xds.NACK{Type: xds.VirtualHost, Table: "infra/web/80", Name: domain, Version: version(current.resource), Reason: "no such thing"}
	change(&r)
	p.NACKed(xds.Identity{Group: ownGroup("infra/web"), Pod: pod}, r)
}

// hostVersion is the version of a host, and "closed" if it answers 500 to all requests.
func hostVersion(p *Pipeline, domain string) string {
	id := ir.ParseTableID("infra/web/80").Host(domain)
	current, _ := p.graph.virtualHosts.Get(nil, id)
	if version(current.resource) == version(closedTranslation(id).resource) {
		return "closed"
	}
	return version(current.resource)
}

// nackReports are what objects report, but for the reasons.
func (l *recorder) nackReports() []string {
	var found []string
	for _, said := range l.said {
		if who, ok := strings.CutPrefix(said, "refuse "); ok {
			who, _, _ = strings.Cut(who, ":")
			found = append(found, who)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestARejectedHostWithoutASubstituteIsClosed has proxies reject a host for which no route has another version: for a rule that Gatewright
// has added, for a policy on the Gateway, and for a route of which every version is rejected.
func TestARejectedHostWithoutASubstituteIsClosed(t *testing.T) {
	t.Parallel()
	const policy = `
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: cors, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  cors: {allowOrigins: ["https://a.example"]}
`
	for name, c := range map[string]struct {
		nack  func(*xds.NACK)
		times int
		want  []string
	}{
		"a rule without an owner": {
			func(r *xds.NACK) { r.Routes = []string{"misdirected"} }, 1, []string{"HTTPRoute infra/a []"},
		},
		"a policy on the Gateway": {
			func(r *xds.NACK) { r.Filters = true }, 1, []string{"HTTPRoute infra/a []", "SecurityPolicy infra/cors []"},
		},
		"every version of a route": {
			func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} }, 4, []string{"HTTPRoute infra/a []", "SecurityPolicy infra/cors []"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &recorder{}
			p := l.plane(t)
			put(t, p, policy+"---"+routeFor("a", 1, "a.example", "/")+"---"+routeFor("wide", 1, "*.example", "/"))
			p.config.step()
			wide := hostVersion(p, "*.example")
			for range c.times {
				l.said = nil
				nackDomain(p, "a.example", c.nack)
				p.config.step()
				p.config.step()
			}
			if got := hostVersion(p, "a.example"); got != "closed" {
				t.Errorf("the host has version %s", got)
			}
			if got := hostVersion(p, "*.example"); got != wide {
				t.Error("another host has changed")
			}
			if got := l.nackReports(); !slices.Equal(got, c.want) {
				t.Errorf("%q report it, want %q", got, c.want)
			}
			// Proxies reject that too. Nothing is left to try, and nothing changes.
			nackDomain(p, "a.example", func(*xds.NACK) {})
			p.config.step()
			if got := hostVersion(p, "a.example"); got != "closed" {
				t.Errorf("the host has version %s after another NACK", got)
			}
			put(t, p, routeFor("a", 2, "a.example", "/better"))
			l.said = nil
			p.config.step()
			if got := hostVersion(p, "a.example"); got == "closed" || p.quarantine.Size().Hosts > 0 {
				t.Error("the host is closed after the route has changed")
			}
			if !slices.Contains(l.said, "accept HTTPRoute infra/a") {
				t.Errorf("said %q", l.said)
			}
		})
	}
}

// TestAHostWithoutASubstituteIsClosedForAllNamespaces has proxies reject every version of a route. Up to the last one, routes of another
// namespace go on.
func TestAHostWithoutASubstituteIsClosedForAllNamespaces(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	put(t, p, `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 2}
spec:
  gatewayClassName: gatewright
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
kind: HTTPRoute
metadata: {namespace: other, name: b, generation: 1}
spec:
  parentRefs: [{namespace: infra, name: web}]
  hostnames: ["a.example"]
  rules: [{matches: [{path: {value: /b}}], filters: [{type: RequestRedirect, requestRedirect: {port: 81}}]}]
---`+routeFor("a", 1, "a.example", "/a"))
	p.config.step()
	for _, want := range []string{"/a fails, /b", "/b, / fails", "closed"} {
		nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
		p.config.step()
		p.config.step()
		host, _ := p.graph.hosts.Get(nil, ir.ParseTableID("infra/web/80").Host("a.example"))
		var rules []string
		for _, rule := range host.Rules {
			if rules = append(rules, rule.Match.Path.Value); rule.Fail != nil {
				rules[len(rules)-1] += " fails"
			}
		}
		got := strings.Join(rules, ", ")
		if hostVersion(p, "a.example") == "closed" {
			got = "closed"
		}
		if got != want {
			t.Errorf("the host is %s, want %s", got, want)
		}
	}
}

// TestEveryNACKBetweenTwoStepsCounts has proxies reject more hosts at once than have their details kept. A proxy does not repeat a NACK.
func TestEveryNACKBetweenTwoStepsCounts(t *testing.T) {
	t.Parallel()
	const count = 1100
	l := &recorder{}
	p := l.plane(t)
	for i := range count {
		put(t, p, routeFor(fmt.Sprintf("r%d", i), 1, fmt.Sprintf("h%d.example", i), "/"))
	}
	p.config.step()
	rejected := map[string]string{}
	for i := range count {
		domain := fmt.Sprintf("h%d.example", i)
		rejected[domain] = hostVersion(p, domain)
		nackDomain(p, domain, func(r *xds.NACK) { r.Routes = []string{fmt.Sprintf("HTTPRoute/infra/r%d/0/0", i)} })
	}
	p.config.step()
	p.config.step()
	left := 0
	for domain, before := range rejected {
		if hostVersion(p, domain) == before {
			left++
		}
	}
	if left > 0 {
		t.Errorf("%d of %d rejected hosts are as they were", left, count)
	}
}

// TestReplicasCloseTheSame has one replica learn from the offers of another, which has more routes in quarantine than have their good
// versions served, and a closed host.
func TestReplicasCloseTheSame(t *testing.T) {
	t.Parallel()
	const count = 260
	old, fresh := &recorder{live: true}, &recorder{live: true}
	first, second := old.plane(t), fresh.plane(t)
	var all []string
	for generation := range 2 {
		for _, p := range []*Pipeline{first, second} {
			for i := range count {
				put(t, p, strings.Replace(aRoute(generation+1, fmt.Sprintf("/%d/%d", generation, i)), "name: r,", fmt.Sprintf("name: r%d,", i), 1))
			}
			put(t, p, routeFor("a", 1, "a.example", "/"))
			p.config.step()
		}
	}
	for i := range count {
		all = append(all, fmt.Sprintf("HTTPRoute/infra/r%d/0/0", i))
	}
	old.live, fresh.live = false, false
	nackHost(first, "infra/web", func(r *xds.NACK) { r.Routes = all })
	nackDomain(first, "a.example", func(r *xds.NACK) { r.Routes = []string{"misdirected"} })
	first.config.step()
	first.config.step()
	for key, instead := range old.offers {
		rejected := hostVersion(second, "a.example")
		if route, _, found := strings.Cut(key, "@infra/web"); found && !strings.HasPrefix(key, "host@") {
			rejected = first.quarantine.RejectedDigest(route, "infra/web")
		}
		second.Offered("other", key, rejected, instead)
	}
	second.config.step()
	second.config.step()
	for _, domain := range []string{"*", "a.example"} {
		if a, b := hostVersion(first, domain), hostVersion(second, domain); a != b {
			t.Errorf("replicas have versions %s and %s of host %s", a, b, domain)
		}
	}
}

// TestARejectedRouteTableIsReportedByItsListeners has a proxy reject what all hosts of a port share.
func TestARejectedRouteTableIsReportedByItsListeners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, version string
		want          []string
	}{
		{"what hosts share", "present", []string{"Gateway infra/web [http]", "HTTPRoute infra/r [http]"}},
		{"no known part of it", "", []string{"Gateway infra/web [http]", "HTTPRoute infra/r [http]"}},
		{"a version that has been replaced", "another", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &recorder{live: true}
			p := l.plane(t)
			put(t, p, aRoute(1, "/"))
			p.config.step()
			if c.version == "present" {
				header, _ := p.graph.tables.Get(nil, ir.ParseTableID("infra/web/80"))
				c.version = version(header.resource)
			}
			l.said = nil
			p.NACKed(xds.Identity{Group: ownGroup("infra/web")}, xds.NACK{
				Type: xds.RouteTable, Name: "infra/web/80", Version: c.version, Reason: "no such thing",
			})
			p.config.step()
			if got := l.nackReports(); !slices.Equal(got, c.want) {
				t.Errorf("reported by %q, want %q", got, c.want)
			}
			l.said = nil
			put(t, p, aRoute(2, "/other"))
			p.config.step()
			// What the hosts share is the same, so that a NACK of that still holds.
			if accepted := slices.Contains(l.said, "accept Gateway infra/web"); accepted != (c.version == "") {
				t.Errorf("said %q after a host has changed", l.said)
			}
		})
	}
}
