package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/xds"
)

// sharedHost has a Gateway for routes of all namespaces, and a route of another namespace for everything of host a.example.
const sharedHost = `
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
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {port: 81}}]}]
---`

// expressionFor is a route for host a.example whose path is an expression.
func expressionFor(generation int, path string) string {
	return strings.Replace(routeFor("a", generation, "a.example", `"`+path+`"`), "{path: {", "{path: {type: RegularExpression, ", 1)
}

// apartRules are the rules of a host at the proxies of Gateway infra/web that reject what others get.
func apartRules(p *Pipeline, domain string) string {
	at := quarantine.GroupHost{Group: ownGroup("infra/web"), Host: ir.ParseTableID("infra/web/80").Host(domain)}
	switch instead, _ := p.graph.apart.Get(nil, at); version(instead.resource) {
	case "":
		return "as others"
	case version(closedTranslation(at.Host).resource):
		return "closed"
	}
	substitute, _ := p.graph.substitutes.Apart.Get(nil, at)
	host, _ := p.graph.insteadOf(nil, at.Host, substitute)
	var rules []string
	for _, rule := range host.Rules {
		if rules = append(rules, rule.Match.Path.Value); rule.Fail != nil {
			rules[len(rules)-1] += " fails"
		}
	}
	return strings.Join(rules, ", ")
}

// nackInstead has a proxy reject what it got instead of a host.
func nackInstead(p *Pipeline, domain string, change func(*xds.NACK)) {
	at := quarantine.GroupHost{Group: ownGroup("infra/web"), Host: ir.ParseTableID("infra/web/80").Host(domain)}
	instead, _ := p.graph.apart.Get(nil, at)
	nackDomain(p, domain, func(r *xds.NACK) {
		r.Version = version(instead.resource)
		change(r)
	})
}

// settle has steps follow one another as long as one requests another.
func settle(p *Pipeline) {
	for range 10 {
		p.config.step()
		select {
		case <-p.config.inbox.wake:
		default:
			return
		}
	}
}

func rejects(routes ...string) func(*xds.NACK) {
	return func(r *xds.NACK) { r.Routes = routes }
}

// TestARouteThatSomeProxiesRejectHasTheSameLevelsThere has one proxy reject a route, and one after the other what it gets instead. Routes
// of another namespace go on there until nothing else is left, and then report it.
func TestARouteThatSomeProxiesRejectHasTheSameLevelsThere(t *testing.T) {
	t.Parallel()
	l, proxies := &recorder{live: true, ready: map[string]bool{"a": true}}, &insteads{Cache: xds.NewCache()}
	p := l.planeOf(t, proxies)
	put(t, p, sharedHost+routeFor("a", 1, "a.example", "/good"))
	p.config.step()
	put(t, p, expressionFor(2, "/only/x[a-z]{500}"))
	p.config.step()
	before := hostVersion(p, "a.example")
	l.live, l.acked = false, true
	for i, c := range []struct{ rules, says string }{
		{"/good, /", "generation 1 is served instead, until the route changes at proxy a"},
		{"/only/x[a-z]{500} fails, /", "its requests are answered 500 until the route changes at proxy a"},
		{"/only fails, /", "its requests, and all that begin alike, are answered 500 until the route changes at proxy a"},
		{"/, / fails", "all requests for its hostnames that no route of another namespace takes are answered 500 until the route changes " +
			"at proxy a"},
		{"closed", "rejected (NACK) host a.example of listener http because of HTTPRoute infra/a: no such thing; all requests there are " +
			"answered 500 at proxy a"},
	} {
		l.said = nil
		if i == 0 {
			nackDomain(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
		} else {
			nackInstead(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
		}
		settle(p)
		if got := apartRules(p, "a.example"); got != c.rules {
			t.Errorf("step %d: the proxy gets %q, want %q", i, got, c.rules)
		}
		if got := hostVersion(p, "a.example"); got != before {
			t.Errorf("step %d: other proxies get version %s", i, got)
		}
		want := []string{"HTTPRoute infra/a []"}
		if c.rules == "closed" {
			want = append(want, "HTTPRoute other/b []")
		}
		if got := l.nackReports(); !slices.Equal(got, want) {
			t.Errorf("step %d: reported by %q, want %q", i, got, want)
		}
		for _, said := range l.said {
			if strings.HasPrefix(said, "refuse") && !strings.Contains(said, c.says) {
				t.Errorf("step %d: said %q, want %q", i, said, c.says)
			}
		}
	}
	// It rejects that too. Nothing is left to try.
	nackInstead(p, "a.example", func(*xds.NACK) {})
	settle(p)
	if got := apartRules(p, "a.example"); got != "closed" {
		t.Errorf("the proxy gets %q", got)
	}
	l.said, l.ready = nil, map[string]bool{}
	settle(p)
	for _, want := range []string{"accept HTTPRoute infra/a", "accept HTTPRoute other/b"} {
		if !slices.Contains(l.said, want) {
			t.Errorf("said %q after the proxy is gone", l.said)
		}
	}
	if size := p.quarantine.Size(); size.Routes > 0 || len(l.offers) > 0 {
		t.Errorf("left are %+v, offers %v", size, l.offers)
	}
}

// TestNACKsOfOneStepRejectOneLevel has one proxy reject two rules of a route, each in two hosts, and then all that it gets instead.
func TestNACKsOfOneStepRejectOneLevel(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true, acked: true}
	p := l.plane(t)
	const route = `
kind: HTTPRoute
metadata: {namespace: infra, name: a, generation: 1}
spec:
  parentRefs: [{name: web}]
  hostnames: [a.example, b.example]
  rules:
  - matches: [{path: {type: RegularExpression, value: "/v/a[a-z]{500}"}}, {path: {type: RegularExpression, value: "/v/b[a-z]{500}"}}]
    backendRefs: [{name: v1, port: 80}]
`
	put(t, p, sharedHost+route)
	p.config.step()
	l.live = false
	for i, want := range []string{"/v/a[a-z]{500} fails, /v/b[a-z]{500} fails", "/v fails, /v fails", "/ fails", "closed"} {
		for _, domain := range []string{"a.example", "b.example"} {
			for _, rule := range []string{"HTTPRoute/infra/a/0/0", "HTTPRoute/infra/a/0/1"} {
				if i == 0 {
					nackDomain(p, domain, rejects(rule))
				} else {
					nackInstead(p, domain, rejects(rule))
				}
			}
		}
		settle(p)
		if got := apartRules(p, "b.example"); got != want {
			t.Errorf("step %d: the proxy gets %q, want %q", i, got, want)
		}
	}
}

// TestALevelThatChangesNothingIsLeftOut has one proxy reject the expression of a route that answers errors already.
func TestALevelThatChangesNothingIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, some := range []bool{true, false} {
		t.Run(fmt.Sprint("some proxies ", some), func(t *testing.T) {
			t.Parallel()
			l := &recorder{live: true, acked: some}
			p := l.plane(t)
			put(t, p, sharedHost+strings.Replace(expressionFor(1, "/only/x[a-z]{500}"), "name: v1", "name: missing", 1))
			p.config.step()
			l.live = false
			nackDomain(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
			settle(p)
			got := apartRules(p, "a.example")
			if !some {
				got = strings.Join(served(p, "infra/web"), ", ")
				got = strings.ReplaceAll(got, " 500", " fails")
				if hostVersion(p, "a.example") == "closed" {
					got = "closed"
				}
			}
			if want := "/only fails, /"; got != want {
				t.Errorf("the proxy gets %q, want %q", got, want)
			}
		})
	}
}

// TestARouteThatIsFoundInASubstituteStartsAtItsFirstLevel has one proxy reject a route, and another one in what it gets instead.
func TestARouteThatIsFoundInASubstituteStartsAtItsFirstLevel(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, sharedHost+routeFor("a", 1, "a.example", "/a1")+"---"+routeFor("c", 1, "a.example", "/c1"))
	p.config.step()
	put(t, p, routeFor("a", 2, "a.example", "/a2")+"---"+routeFor("c", 2, "a.example", "/c2"))
	p.config.step()
	l.live, l.acked = false, true
	nackDomain(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(p)
	if got := apartRules(p, "a.example"); got != "/a1, /c2, /" {
		t.Errorf("the proxy gets %q", got)
	}
	nackInstead(p, "a.example", rejects("HTTPRoute/infra/c/0/0"))
	nackInstead(p, "a.example", rejects("HTTPRoute/infra/c/0/1"))
	settle(p)
	if got := apartRules(p, "a.example"); got != "/a1, /c1, /" {
		t.Errorf("the proxy gets %q", got)
	}
}

// TestAHostThatIsClosedAtAProxyNamesThePresentCause has a policy on a Gateway close a host at a proxy that rejects a route of it too.
func TestAHostThatIsClosedAtAProxyNamesThePresentCause(t *testing.T) {
	t.Parallel()
	const policy = `
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: cors, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  cors: {allowOrigins: ["https://a.example"]}
`
	for name, instead := range map[string]bool{"at once": false, "in the substitute": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &recorder{live: true, ready: map[string]bool{"a": true}}
			p := l.plane(t)
			put(t, p, sharedHost+routeFor("a", 1, "a.example", "/good"))
			p.config.step()
			put(t, p, expressionFor(2, "/v[a-z]{500}"))
			p.config.step()
			l.live, l.acked = false, true
			expression := func(r *xds.NACK) { r.Routes, r.Reason = []string{"HTTPRoute/infra/a/0/0"}, "expression" }
			filter := func(r *xds.NACK) { r.Filters, r.Reason = true, "no such filter" }
			nackDomain(p, "a.example", expression)
			settle(p)
			put(t, p, policy)
			p.config.step()
			l.said = nil
			nackDomain(p, "a.example", expression)
			if instead {
				settle(p)
				l.said = nil
				nackInstead(p, "a.example", filter)
			} else {
				nackDomain(p, "a.example", filter)
			}
			settle(p)
			if got := apartRules(p, "a.example"); got != "closed" {
				t.Fatalf("the proxy gets %q", got)
			}
			if got, want := l.nackReports(), []string{
				"HTTPRoute infra/a []", "HTTPRoute other/b []", "SecurityPolicy infra/cors []",
			}; !slices.Equal(got, want) {
				t.Errorf("reported by %q, want %q", got, want)
			}
			const want = "host a.example of listener http because of SecurityPolicy infra/cors: no such filter; all requests there are " +
				"answered 500 at proxy a"
			for _, said := range l.said {
				if strings.HasPrefix(said, "refuse") && !strings.Contains(said, want) {
					t.Errorf("said %q", said)
				}
			}
			// Another proxy that rejects the route does not change the cause.
			l.said = nil
			nackDomain(p, "a.example", expression)
			settle(p)
			if said := strings.Join(l.said, "\n"); !strings.Contains(said, want) || strings.Contains(said, "expression") {
				t.Errorf("said %q", said)
			}
		})
	}
}

// TestRoutesBesideARejectedOneReportTheProxy has one proxy reject all that could be served of a route. Others of its namespace answer
// errors there.
func TestRoutesBesideARejectedOneReportTheProxy(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true, acked: true, ready: map[string]bool{"a": true}}
	p := l.plane(t)
	put(t, p, sharedHost+routeFor("a", 1, "a.example", "/a")+"---"+routeFor("c", 1, "a.example", "/c"))
	p.config.step()
	l.live = false
	nackDomain(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(p)
	l.said = nil
	nackInstead(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(p)
	if got := apartRules(p, "a.example"); got != "/c fails, /, / fails" {
		t.Errorf("the proxy gets %q", got)
	}
	if got, want := l.nackReports(), []string{"HTTPRoute infra/a []", "HTTPRoute infra/c []"}; !slices.Equal(got, want) {
		t.Errorf("reported by %q, want %q", got, want)
	}
	const want = "refuse HTTPRoute infra/c []: a proxy of Gateway infra/web rejected (NACK) HTTPRoute infra/a: no such thing; requests of " +
		"this route for hostname a.example, some of which may be meant for that one, are answered 500 at proxy a"
	if !slices.ContainsFunc(l.said, func(s string) bool { return strings.HasPrefix(s, want) }) {
		t.Errorf("said %q", l.said)
	}
}

// TestRoutesThatAWidenedOneTakesRequestsOfReportTheProxy has one proxy reject an expression that every path may match.
func TestRoutesThatAWidenedOneTakesRequestsOfReportTheProxy(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true, acked: true, ready: map[string]bool{"a": true}}
	p := l.plane(t)
	put(t, p, sharedHost+expressionFor(1, "/[a-z]{500}"))
	p.config.step()
	l.live = false
	nackDomain(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(p)
	l.said = nil
	nackInstead(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(p)
	if got := apartRules(p, "a.example"); got != "/ fails, /" {
		t.Errorf("the proxy gets %q", got)
	}
	if got, want := l.nackReports(), []string{"HTTPRoute infra/a []", "HTTPRoute other/b []"}; !slices.Equal(got, want) {
		t.Errorf("reported by %q, want %q", got, want)
	}
}

// TestReplicasReportAHostThatIsClosedAtAProxy has a replica know it from another one alone.
func TestReplicasReportAHostThatIsClosedAtAProxy(t *testing.T) {
	t.Parallel()
	there, here := &recorder{live: true, acked: true}, &recorder{live: true, acked: true}
	elsewhere, p := there.plane(t), here.plane(t)
	for _, replica := range []*Pipeline{elsewhere, p} {
		put(t, replica, sharedHost+routeFor("a", 1, "a.example", "/a"))
		replica.config.step()
	}
	there.live = false
	nackDomain(elsewhere, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(elsewhere)
	for range 2 {
		nackInstead(elsewhere, "a.example", rejects("HTTPRoute/infra/a/0/0"))
		settle(elsewhere)
	}
	if got := apartRules(elsewhere, "a.example"); got != "closed" {
		t.Fatalf("the proxy gets %q", got)
	}
	here.said = nil
	offered := func() {
		for key, content := range there.offers {
			rejected := hostVersion(p, "a.example")
			if !strings.HasPrefix(key, "host@") {
				rejected = elsewhere.quarantine.RejectedDigest("HTTPRoute/infra/a", "infra/web")
			}
			p.Offered("other", key, rejected, content)
		}
		settle(p)
	}
	offered()
	if got, want := here.nackReports(), []string{"HTTPRoute infra/a []", "HTTPRoute other/b []"}; !slices.Equal(got, want) {
		t.Errorf("reported by %q, want %q", got, want)
	}
	for _, said := range here.said {
		if strings.HasPrefix(said, "refuse") && !strings.Contains(said, "because of HTTPRoute infra/a: no such thing; all requests there") {
			t.Errorf("said %q", said)
		}
	}
	// There is another cause.
	nackDomain(elsewhere, "a.example", func(r *xds.NACK) { r.Filters, r.Reason = true, "no such filter" })
	settle(elsewhere)
	here.said = nil
	offered()
	for _, said := range here.said {
		if strings.HasPrefix(said, "refuse") && !strings.Contains(said, "of listener http: no such filter; all requests there") {
			t.Errorf("said %q", said)
		}
	}
	// Its own proxies that reject the route get the level that is left.
	nackDomain(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(p)
	if got := apartRules(p, "a.example"); got != "/, / fails" {
		t.Errorf("proxies here get %q", got)
	}
}

// TestARouteThatChangesWithoutItsHostKeepsItsLevel edits a policy so that the host which a proxy rejects has the same bytes. The route of
// the other namespace goes on there, and the proxy is reported as before.
func TestARouteThatChangesWithoutItsHostKeepsItsLevel(t *testing.T) {
	t.Parallel()
	policy := func(name, strategy string) string {
		return `
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: ` + name + `, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}]
  strategy: ` + strategy + `
  authorization: {defaultAction: Deny}
---`
	}
	l, proxies := &recorder{live: true, ready: map[string]bool{"a": true}}, &insteads{Cache: xds.NewCache()}
	p := l.planeOf(t, proxies)
	put(t, p, sharedHost+policy("p", "Defaults")+expressionFor(2, "/only/x[a-z]{500}"))
	p.config.step()
	before := hostVersion(p, "a.example")
	l.live, l.acked = false, true
	nackDomain(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(p)
	l.said = nil
	put(t, p, policy("p", "Overrides"))
	settle(p)
	if got := hostVersion(p, "a.example"); got != before {
		t.Fatalf("the host has version %s, and had %s", got, before)
	}
	if got, want := apartRules(p, "a.example"), "/only/x[a-z]{500} fails, /"; got != want {
		t.Errorf("the proxy gets %q, want %q", got, want)
	}
	reported := l.nackReports()
	slices.Sort(reported)
	if got, want := slices.Compact(reported), []string{"HTTPRoute infra/a []", "SecurityPolicy infra/p []"}; !slices.Equal(got, want) {
		t.Errorf("reported by %q, want %q", got, want)
	}

	// Corrected, it is released.
	put(t, p, expressionFor(3, "/only/x"))
	settle(p)
	if got := apartRules(p, "a.example"); got != "as others" {
		t.Errorf("corrected, the proxy gets %q", got)
	}
}

// TestRoutesThatAreClosedForAllDoNotNameAProxy has a route that is closed beside an unknown rule of its namespace, on a host of which a
// proxy rejects another route.
func TestRoutesThatAreClosedForAllDoNotNameAProxy(t *testing.T) {
	t.Parallel()
	l, proxies := &recorder{live: true, ready: map[string]bool{"a": true}}, &insteads{Cache: xds.NewCache()}
	p := l.planeOf(t, proxies)
	put(t, p, sharedHost+`
kind: HTTPRoute
metadata: {namespace: other, name: c, generation: 1}
spec:
  parentRefs: [{namespace: infra, name: web}]
  hostnames: ["a.example"]
  rules:
  - matches: [{path: {type: Newer, value: /x}}]
    filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v1, port: 80}}}]
---`+expressionFor(2, "/only/x[a-z]{500}"))
	p.config.step()
	l.live, l.acked, l.said = false, true, nil
	nackDomain(p, "a.example", rejects("HTTPRoute/infra/a/0/0"))
	settle(p)
	if !slices.Contains(l.nackReports(), "HTTPRoute other/b []") {
		t.Errorf("the route that is closed says nothing: %q", l.said)
	}
	for _, said := range l.said {
		if strings.Contains(said, "other/b") && strings.Contains(said, "NACK") {
			t.Errorf("said %q", said)
		}
	}
}
