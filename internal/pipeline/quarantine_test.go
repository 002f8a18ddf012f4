package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

func TestARefusedRouteIsReplacedByItsLastGoodVersionUntilItChanges(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, aRoute(1, "/good"))
	p.config.step()
	put(t, p, aRoute(2, "/bad"))
	p.config.step()
	l.recorded(t, "route infra/r generation 1", "route infra/r generation 2")
	l.serves(t, p, "infra/web", "/bad")

	l.live = false
	nackHost(p, "infra/web", nil)
	p.config.step()
	l.recorded(
		t,
		"route infra/r generation 2",
		"refuse HTTPRoute infra/r []: a proxy of Gateway infra/web rejected (NACK) generation 2: no such thing; generation 1 is "+
			"served instead, until the route changes",
	)
	l.serves(t, p, "infra/web", "/good")

	put(t, p, aRoute(3, "/worse"))
	p.config.step()
	l.serves(t, p, "infra/web", "/worse")
	l.recorded(t, "route infra/r generation 3", "accept HTTPRoute infra/r")
	nackHost(p, "infra/web", nil)
	p.config.step()
	l.recorded(
		t,
		"route infra/r generation 3",
		"refuse HTTPRoute infra/r []: a proxy of Gateway infra/web rejected (NACK) generation 3: no such thing; generation 1 is "+
			"served instead, until the route changes",
	)
	l.serves(t, p, "infra/web", "/good")

	p.Put(store.Change{Kind: store.HTTPRoute, Key: "infra/r"})
	p.config.step()
	l.recorded(t, "forget infra/r", "accept HTTPRoute infra/r")
	l.serves(t, p, "infra/web")
}

func TestARefusedRouteThatWasNeverLiveIsClosedAndThenItsHostnames(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	put(t, p, aRoute(1, "/bad"))
	p.config.step()
	nackHost(p, "infra/web", nil)
	p.config.step()
	l.recorded(
		t,
		"route infra/r generation 1",
		"route infra/r generation 1",
		"refuse HTTPRoute infra/r []: a proxy of Gateway infra/web rejected (NACK) generation 1: no such thing; its requests are "+
			"answered 500 until the route changes",
	)
	l.serves(t, p, "infra/web", "/bad 500")
	nackHost(p, "infra/web", nil)
	p.config.step()
	l.recorded(t, "route infra/r generation 1",
		"refuse HTTPRoute infra/r []: a proxy of Gateway infra/web rejected (NACK) generation 1: no such thing; "+
			"all requests for its hostnames that no route of another namespace takes are answered 500 until the route changes")
	l.serves(t, p, "infra/web", "/ 500")
}

// TestARefusedMatchIsWidened has proxies refuse an expression, whatever the rule does.
func TestARefusedMatchIsWidened(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	put(t, p, strings.Replace(aRoute(1, `"/a/b.*"`), "{path: {", "{path: {type: RegularExpression, ", 1))
	p.config.step()
	for _, want := range []string{"/a/b.* 500", "/a 500", "/ 500", "/ 500"} {
		nackHost(p, "infra/web", nil)
		p.config.step()
		l.serves(t, p, "infra/web", want)
	}
}

// TestARouteBeyondALimitIsWidenedWhileItIs has proxies refuse the errors of a route that a Gateway has no room for.
func TestARouteBeyondALimitIsWidenedWhileItIs(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	p.graph.objects.Limits.Routes = 1
	put(t, p, strings.Replace(aRoute(1, "/first"), "name: r,", "name: a,", 1))
	put(t, p, strings.Replace(aRoute(1, `"/a/b.*"`), "{path: {", "{path: {type: RegularExpression, ", 1))
	p.config.step()
	rejected := func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/r/0/0"} }
	if r, _ := p.graph.routes.Get(nil, "HTTPRoute/infra/r"); len(r.GatewayBackends()) > 0 {
		t.Errorf("a route without room needs %v", r.GatewayBackends())
	}
	nackHost(p, "infra/web", rejected)
	p.config.step()
	l.serves(t, p, "infra/web", "/first", "/a 500")
	nackHost(p, "infra/web", rejected)
	p.config.step()
	l.serves(t, p, "infra/web", "/first 500", "/ 500")

	p.Put(store.Change{Kind: store.HTTPRoute, Key: "infra/a"})
	p.config.step()
	p.config.step()
	l.serves(t, p, "infra/web", "/a/b.*")
	if size := p.quarantine.Size(); size.Routes > 0 || len(l.offers) > 0 {
		t.Errorf("left are %v, offers %v", size, l.offers)
	}
}

// TestALimitIsNotTakenForQuarantine has a route change while a Gateway has no room for it.
func TestALimitIsNotTakenForQuarantine(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, aRoute(1, "/good"))
	p.config.step()
	put(t, p, aRoute(2, "/bad"))
	p.config.step()
	l.live = false
	nackHost(p, "infra/web", nil)
	p.config.step()
	l.serves(t, p, "infra/web", "/good")

	p.graph.objects.Limits.Routes = 1
	put(t, p, strings.Replace(aRoute(1, "/first"), "name: r,", "name: a,", 1))
	p.config.step()
	l.serves(t, p, "infra/web", "/first", "/bad 500")
	put(t, p, aRoute(3, "/other"))
	p.config.step()
	l.serves(t, p, "infra/web", "/first", "/other 500")
	if size := p.quarantine.Size(); size.Routes > 0 {
		t.Errorf("left are %v", size)
	}
}

// TestASubstituteHasTheGuardsOfTheRefusedVersion has proxies refuse the version that adds a rule with a guard.
func TestASubstituteHasTheGuardsOfTheRefusedVersion(t *testing.T) {
	t.Parallel()
	const guarded = `{matches: [{path: {value: /admin}}], backendRefs: [{name: v1, port: 80}], ` +
		`filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v2, port: 80}}}]}, {matches`
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, aRoute(1, "/"))
	p.config.step()
	put(t, p, strings.Replace(aRoute(2, "/"), "{matches", guarded, 1))
	p.config.step()
	l.serves(t, p, "infra/web", "/admin", "/")
	l.live = false
	nackHost(p, "infra/web", nil)
	p.config.step()
	l.serves(t, p, "infra/web", "/admin 500", "/")
}

// TestRoutesBeyondTheLimitOfTheQuarantineAreClosed has proxies refuse more routes than have their good versions served.
func TestRoutesBeyondTheLimitOfTheQuarantineAreClosed(t *testing.T) {
	t.Parallel()
	const count = 260
	l := &recorder{live: true}
	p := l.plane(t)
	name := func(text string, i int) string {
		return strings.Replace(text, "name: r,", fmt.Sprintf("name: r%d,", i), 1)
	}
	var all []string
	for generation := range 2 {
		for i := range count {
			put(t, p, name(aRoute(generation+1, fmt.Sprintf("/%d/%d", generation, i)), i))
			all = append(all, fmt.Sprintf("HTTPRoute/infra/r%d/0/0", i))
		}
		p.config.step()
	}
	l.live = false
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Routes = all[:count] })
	p.config.step()
	good, closed := 0, 0
	for _, path := range served(p, "infra/web") {
		switch {
		case strings.HasPrefix(path, "/1/") && strings.HasSuffix(path, " 500"):
			closed++
		case strings.HasPrefix(path, "/0/"):
			good++
		default:
			t.Errorf("%s is served", path)
		}
	}
	if good != 256 || closed != count-256 {
		t.Errorf("%d good versions are served, and %d routes are closed", good, closed)
	}
}

func TestANACKOfAVersionThatHasBeenReplacedIsVoid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		early bool
	}{{"before the change was computed", true}, {"after it", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := &recorder{}
			p := l.plane(t)
			put(t, p, aRoute(1, "/bad"))
			p.config.step()
			put(t, p, aRoute(2, "/good"))
			stale := func(*xds.NACK) {}
			if !test.early {
				current, _ := p.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
				old := version(current.resource)
				stale = func(r *xds.NACK) { r.Version = old }
				p.config.step()
			}
			nackHost(p, "infra/web", stale)
			p.config.step()
			l.serves(t, p, "infra/web", "/good")
			if i := slices.IndexFunc(l.said, func(s string) bool { return strings.HasPrefix(s, "refuse") }); i >= 0 {
				t.Errorf("said %q", l.said[i])
			}
		})
	}
}

func TestARouteIsInQuarantineAtOneGateway(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	both := func(generation int, path string) string {
		return fmt.Sprintf(`
kind: Gateway
metadata: {namespace: infra, name: other, generation: 1}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: %d}
spec:
  parentRefs: [{name: web}, {name: other}]
  rules: [{matches: [{path: {value: %s}}], backendRefs: [{name: v1, port: 80}]}]
`, generation, path)
	}
	put(t, p, both(1, "/one"))
	p.config.step()
	put(t, p, both(2, "/two"))
	p.config.step()
	l.live = false
	nackHost(p, "infra/other", nil)
	p.config.step()
	l.serves(t, p, "infra/other", "/one")
	l.serves(t, p, "infra/web", "/two")
}

// The last good version refers to a backend of another namespace. The refused one does not, so that it is unknown whether that is still
// allowed.
func TestALastGoodVersionDoesNotOutliveAGrant(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, `
kind: Service
metadata: {namespace: other, name: far}
spec: {ports: [{port: 80}]}
---
kind: ReferenceGrant
metadata: {namespace: other, name: grant}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: infra}]
  to: [{group: "", kind: Service}]
---
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: 1}
spec:
  parentRefs: [{name: web}]
  rules: [{matches: [{path: {value: /far}}], backendRefs: [{namespace: other, name: far, port: 80}]}]
`)
	p.config.step()
	put(t, p, aRoute(2, "/bad"))
	p.config.step()
	l.live = false
	nackHost(p, "infra/web", nil)
	p.config.step()
	l.serves(t, p, "infra/web", "/bad 500")
}

func TestARouteInQuarantineLeavesWithItsGateway(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, aRoute(1, "/good"))
	p.config.step()
	put(t, p, aRoute(2, "/bad"))
	p.config.step()
	l.live = false
	nackHost(p, "infra/web", nil)
	p.config.step()
	p.Put(store.Change{Kind: store.Gateway, Key: "infra/web"})
	p.config.step()
	p.config.step()
	if keys := p.graph.hosts.Keys(nil); len(keys) > 0 || p.quarantine.Size().Routes > 0 || len(l.offers) > 0 {
		t.Errorf("left are hosts %v, routes %v, offers %v", keys, p.quarantine.Size(), l.offers)
	}
}

func TestRoutesThatAreRefusedOnlyTogetherAreReplacedTogether(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, aRoute(1, "/good"))
	p.config.step()
	put(t, p, aRoute(2, "/bad"))
	p.config.step()
	l.live = false
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Together = true })
	p.config.step()
	l.serves(t, p, "infra/web", "/good")
}

func TestAHostThatIsRefusedAsATreeIsSentAsAList(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	var rules strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rules, "  - {matches: [{path: {value: /%d}}], backendRefs: [{name: v1, port: 80}]}\n", i)
	}
	put(t, p, `
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: 1}
spec:
  parentRefs: [{name: web}]
  rules:
`+rules.String())
	p.config.step()
	before, _ := p.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Together = true })
	p.config.step()
	after, _ := p.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
	if version(before.resource) == version(after.resource) || p.quarantine.Size().Routes > 0 {
		t.Error("the host is as it was, or its routes are in quarantine")
	}
	if got := len(served(p, "infra/web")); got != 100 {
		t.Errorf("%d rules are served", got)
	}
}

// The route is given other hostnames while it is in quarantine. Its good version is served only where it was.
func TestARouteInQuarantineIsServedWhereItWasAttached(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	named := func(generation int, host, path string) string {
		return strings.Replace(aRoute(generation, path), "spec:", "spec:\n  hostnames: ["+host+"]", 1)
	}
	put(t, p, named(1, "a.example", "/good"))
	p.config.step()
	put(t, p, named(2, "a.example", "/bad"))
	p.config.step()
	l.live = false
	current, _ := p.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|a.example"))
	p.NACKed(xds.Identity{Group: ownGroup("infra/web")}, xds.NACK{
		Type:    xds.VirtualHost,
		Table:   "infra/web/80",
		Name:    "a.example",
		Version: version(current.resource),
		Routes:  []string{"HTTPRoute/infra/r/0/0"},
		Reason:  "no",
	})
	p.config.step()
	put(t, p, named(3, "a.example, b.example", "/bad"))
	p.config.step()
	var hosts []string
	for _, key := range p.graph.hosts.Keys(nil) {
		if host, _ := p.graph.hosts.Get(nil, key); len(host.Rules) > 0 {
			hosts = append(hosts, fmt.Sprint(host.Domain, host.Rules[0].Match.Path.Value, host.Rules[0].Fail != nil))
		}
	}
	if !slices.Equal(hosts, []string{"a.example/goodfalse", "b.example/badtrue"}) {
		t.Errorf("serves %v", hosts)
	}
}

func TestARouteThatIsRefusedBecauseOfAnXBackendGoesOnAsItWas(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	backend := func(generation int, cookie string) string {
		return fmt.Sprintf(`
kind: XBackend
metadata: {namespace: infra, name: x, generation: %d}
spec:
  type: ExternalHostname
  externalHostname: {hostname: example.com}
  port: {number: 80}
  sessionPersistence: {cookie: {name: %s}}
`, generation, cookie)
	}
	put(t, p, backend(1, "good")+`
---
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: 1}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: x}]}]
`)
	p.config.step()
	cookie := func() string {
		host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
		return host.Rules[0].Forward.Backends[0].Session.Cookie
	}
	put(t, p, backend(2, "bad"))
	p.config.step()
	if got := cookie(); got != "bad" {
		t.Fatalf("the cookie is %s", got)
	}
	l.said, l.live = nil, false
	nackHost(p, "infra/web", nil)
	p.config.step()
	if got := cookie(); got != "good" {
		t.Errorf("the cookie is %s", got)
	}
	slices.Sort(l.said)
	l.recorded(
		t,
		"refuse XBackend infra/x []: a proxy of Gateway infra/web rejected (NACK) what HTTPRoute infra/r has from it: no such thing; what was "+
			"served before still is, until it changes",
		"route infra/r generation 1",
	)
	put(t, p, backend(3, "better"))
	p.config.step()
	if got := cookie(); got != "better" {
		t.Errorf("the cookie is %s", got)
	}
}

func TestReplicasServeTheSameInstead(t *testing.T) {
	t.Parallel()
	old, fresh := &recorder{live: true}, &recorder{live: true}
	before, after := old.plane(t), fresh.plane(t)
	put(t, before, aRoute(1, "/good"))
	before.config.step()
	for _, p := range []*Pipeline{before, after} {
		put(t, p, aRoute(2, "/bad"))
		p.config.step()
		old.live, fresh.live = false, false
		nackHost(p, "infra/web", nil)
		p.config.step()
	}
	old.serves(t, before, "infra/web", "/good")
	fresh.serves(t, after, "infra/web", "/bad 500")
	current, _ := before.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|*"))
	for key, instead := range old.offers {
		after.Offered("other", key, before.quarantine.RejectedDigest("HTTPRoute/infra/r", "infra/web"), instead)
	}
	after.Offered("other", "HTTPRoute/infra/none@infra/web", "x", []byte("{}"))
	after.config.step()
	fresh.serves(t, after, "infra/web", "/good")
	if same, _ := after.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|*")); version(same.resource) != version(current.resource) {
		t.Error("the replicas serve different versions")
	}
}

func TestARefusedResourceIsTracedToItsObjects(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	put(t, p, aRoute(1, "/"))
	p.config.step()
	l.said = nil
	name := p.graph.clusters.Keys(nil)[0].Backend.String()
	p.NACKed(xds.Identity{Group: ownGroup("infra/web")}, xds.NACK{Type: xds.Cluster, Name: name, Reason: "no such thing"})
	p.NACKed(xds.Identity{Group: ownGroup("infra/web")}, xds.NACK{Type: xds.Listener, Name: "infra/web/80", Reason: "no such port"})
	p.config.step()
	slices.Sort(l.said)
	const rejected = "a proxy rejected (NACK) listener infra/web/80: no such port; what proxies served there before still is, if anything was"
	l.recorded(t, "refuse Gateway infra/web [http]: "+rejected,
		"refuse HTTPRoute infra/r []: a proxy rejected (NACK) backend "+name+": no such thing",
		"refuse HTTPRoute infra/r [http]: "+notProgrammed(rejected))
	put(t, p, `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 2}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 81, protocol: HTTP}]}
`)
	p.config.step()
	if !slices.Contains(l.said, "accept Gateway infra/web") {
		t.Errorf("said %q", l.said)
	}
}

// TestAGatewayThatIsGoneLeavesNothing has no proxy be ready before the Gateway is deleted.
func TestAGatewayThatIsGoneLeavesNothing(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	put(t, p, aRoute(1, "/"))
	p.config.step()
	if size := p.quarantine.Size(); size.Groups != 1 {
		t.Errorf("there are %+v", size)
	}
	p.Put(store.Change{Kind: store.Gateway, Key: "infra/web"})
	p.config.step()
	if size := p.quarantine.Size(); size.Groups != 0 {
		t.Errorf("left are %+v", size)
	}
}
