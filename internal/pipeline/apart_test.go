package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// insteads records what proxies get instead of hosts that they reject.
type insteads struct {
	*xds.Cache
	hosts []string
	last  *xds.Resource
	// states are those of all groups.
	states map[xds.GroupID]string
}

func (i *insteads) Apply(changes []xds.Change) map[xds.GroupID]string {
	for _, c := range changes {
		if c.Instead != nil {
			i.hosts, i.last = append(i.hosts, c.Name), c.Instead
		}
	}
	states := i.Cache.Apply(changes)
	if i.states == nil {
		i.states = map[xds.GroupID]string{}
	}
	maps.Copy(i.states, states)
	return states
}

// TestWhatAnotherProxyHasAcknowledgedIsNotReplaced has one proxy reject what another one has acknowledged.
func TestWhatAnotherProxyHasAcknowledgedIsNotReplaced(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true, offers: map[string][]byte{}, ready: map[string]bool{"a": true}}
	proxies := &insteads{Cache: xds.NewCache()}
	out := discardAll()
	out.Proxies, out.Statuses, out.Convergence, out.Peers = proxies, l, l, l
	p := New(out, prometheus.NewRegistry())
	put(t, p, base+`
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---`+routeFor("a", 1, "a.example", "/good"))
	p.Start()
	first := hostVersion(p, "a.example")
	put(t, p, routeFor("a", 2, "a.example", "/new"))
	p.config.step()
	before := hostVersion(p, "a.example")

	l.said, l.live, l.acked = nil, false, true
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
	p.config.step()
	if got := hostVersion(p, "a.example"); got != before {
		t.Errorf("the host has version %s", got)
	}
	if !slices.Equal(proxies.hosts, []string{"a.example"}) {
		t.Errorf("proxies get something instead of %q", proxies.hosts)
	}
	want := "refuse HTTPRoute infra/a []: a proxy of Gateway infra/web rejected (NACK) generation 2: no such thing; generation 1 is served " +
		"instead, until the route changes at proxy a, and proxies that accept this version serve it; replace those that are outdated"
	if !slices.Equal(l.said, []string{want}) {
		t.Errorf("said %q", l.said)
	}
	if good := version(proxies.last); good != first {
		t.Errorf("the proxy gets version %s instead, want %s", good, first)
	}
	// It rejects that too.
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Version = first })
	p.config.step()
	if got := version(proxies.last); got != version(closedTranslation(ir.ParseHostID("infra/web/80|a.example")).resource) {
		t.Errorf("the proxy gets version %s instead of a closed host", got)
	}

	l.said, l.ready = nil, map[string]bool{}
	p.config.step()
	if !slices.Contains(l.said, "accept HTTPRoute infra/a") {
		t.Errorf("said %q after the proxy is gone", l.said)
	}

	// Nothing else is known of a version that no proxy has acknowledged.
	l.acked = false
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
	p.config.step()
	host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|a.example"))
	if got := host.Rules[0].Match.Path.Value; got != "/good" {
		t.Errorf("%s is served", got)
	}
}

// TestARouteSaysThatAProxyHasNoClustersOfItsGoodVersion has one proxy reject a version that leads to another backend than the good one.
// Proxies have the clusters of the present version alone.
func TestARouteSaysThatAProxyHasNoClustersOfItsGoodVersion(t *testing.T) {
	t.Parallel()
	l, proxies := &recorder{live: true, ready: map[string]bool{"a": true}}, &insteads{Cache: xds.NewCache()}
	p := l.planeOf(t, proxies)
	put(t, p, aRoute(1, "/good"))
	p.config.step()
	put(t, p, strings.Replace(aRoute(2, "/bad"), "name: v1", "name: v2", 1))
	p.config.step()
	l.said, l.live, l.acked = nil, false, true
	nackDomain(p, "*", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/r/0/0"} })
	p.config.step()
	l.recorded(t, "refuse HTTPRoute infra/r []: a proxy of Gateway infra/web rejected (NACK) generation 2: no such thing; its requests are "+
		"answered 500 until the route changes at proxy a, and proxies that accept this version serve it; replace those that are outdated")
}

// TestANACKWaitsForTheAnswersOfOtherProxies has one proxy reject a route before another one has answered, which takes it later, rejects it
// later, or answers nothing.
func TestANACKWaitsForTheAnswersOfOtherProxies(t *testing.T) {
	t.Parallel()
	const takes, rejects, silent = "takes it", "rejects it", "answers nothing"
	for _, cluster := range []bool{false, true} {
		for _, other := range []string{takes, rejects, silent} {
			synctest.Test(t, func(t *testing.T) {
				l := &recorder{live: true}
				p := l.plane(t)
				put(t, p, routeFor("a", 1, "a.example", "/new"))
				p.config.step()
				before := hostVersion(p, "a.example")
				nack := func(pod string) {
					nackDomainBy(p, pod, "a.example", func(r *xds.NACK) {
						if r.Routes = []string{"HTTPRoute/infra/a/0/0"}; cluster {
							r.Cluster = clusterOf(t, p, "v1")
						}
					})
					p.config.step()
				}
				l.live, l.unanswered = false, 1
				nack("a")
				// The other proxy may be busy, or have to warm the cluster.
				time.Sleep(15 * time.Second)
				p.config.step()
				if got := hostVersion(p, "a.example"); got != before {
					t.Errorf("the host has version %s before the other proxy has answered", got)
				}
				switch other {
				case takes:
					l.acked = true
				case rejects:
					l.unanswered = 0
					nack("b")
				}
				time.Sleep(6 * time.Second)
				p.config.step()
				if replaced := hostVersion(p, "a.example") != before; replaced == (other == takes) {
					t.Errorf("cluster %t, the other proxy %s: the route is replaced for all: %t", cluster, other, replaced)
				}
			})
		}
	}
}

// TestProxiesThatRejectAHostForDifferentCausesHaveAnswered has two proxies reject different rules of a host.
func TestProxiesThatRejectAHostForDifferentCausesHaveAnswered(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, routeFor("a", 1, "a.example", "/new")+"---\n"+routeFor("b", 1, "a.example", "/other"))
	p.config.step()
	before := hostVersion(p, "a.example")
	l.live, l.silent = false, []string{"1", "2"}
	nackDomainBy(p, "1", "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
	p.config.step()
	if hostVersion(p, "a.example") != before {
		t.Error("the host has another version before the second proxy has answered")
	}
	nackDomainBy(p, "2", "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/b/0/0"} })
	p.config.step()
	if hostVersion(p, "a.example") == before {
		t.Error("both proxies reject the host, and nothing replaces it")
	}
}

// TestANACKThatWaitsCountsForNothingOnceItsProxyIsGone has the only proxy that rejects a route go while the NACK waits.
func TestANACKThatWaitsCountsForNothingOnceItsProxyIsGone(t *testing.T) {
	t.Parallel()
	for _, goes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := &recorder{live: true, ready: map[string]bool{"a": true}}
			p := l.plane(t)
			put(t, p, routeFor("a", 1, "a.example", "/new"))
			p.config.step()
			before := hostVersion(p, "a.example")
			l.live, l.unanswered = false, 1
			nackDomainBy(p, "a", "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
			p.config.step()
			l.ready["a"] = !goes
			time.Sleep(21 * time.Second)
			p.config.step()
			if replaced := hostVersion(p, "a.example") != before; replaced == goes {
				t.Errorf("the proxy goes: %t, the route is replaced for all: %t", goes, replaced)
			}
		})
	}
}

// TestARouteReportsProxiesOfOtherReplicas has a proxy of another replica reject a route that others serve. Of more than some NACKs of a
// proxy this replica sees only the offers.
func TestARouteReportsProxiesOfOtherReplicas(t *testing.T) {
	t.Parallel()
	there := &recorder{live: true, ready: map[string]bool{"a": true}}
	elsewhere := there.plane(t)
	put(t, elsewhere, routeFor("a", 1, "a.example", "/new"))
	elsewhere.config.step()
	there.live, there.acked = false, true
	nackDomain(elsewhere, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
	elsewhere.config.step()
	const key = "HTTPRoute/infra/a@infra/web"
	if there.offers[key] == nil {
		t.Fatalf("nothing is offered but %v", slices.Collect(maps.Keys(there.offers)))
	}

	l := &recorder{acked: true, ready: map[string]bool{"a": true}}
	p := l.plane(t)
	put(t, p, routeFor("a", 1, "a.example", "/new"))
	p.config.step()
	before := hostVersion(p, "a.example")
	l.said = nil
	p.Offered("other", key, elsewhere.quarantine.RejectedDigest("HTTPRoute/infra/a", "infra/web"), there.offers[key])
	p.config.step()
	l.recorded(t, "refuse HTTPRoute infra/a []: a proxy of Gateway infra/web rejected (NACK) generation 1: no such thing; its requests are "+
		"answered 500 until the route changes at some proxies, and proxies that accept this version serve it; replace those that are outdated")
	if got := hostVersion(p, "a.example"); got != before {
		t.Errorf("the host has version %s", got)
	}
	if len(l.offers) > 0 {
		t.Errorf("this replica offers what it knows from another one: %v", slices.Collect(maps.Keys(l.offers)))
	}

	there.ready = map[string]bool{}
	elsewhere.config.step()
	if len(there.offers) > 0 || elsewhere.quarantine.Size().Routes > 0 {
		t.Errorf("after the proxy is gone, its replica offers %v", slices.Collect(maps.Keys(there.offers)))
	}
	p.Offered("other", key, "", nil)
	p.config.step()
	l.recorded(t, "accept HTTPRoute infra/a")
}

// TestWhatRulesShareIsNotReplacedIfAnotherProxyHasAcknowledgedIt has one proxy reject what is not of a route.
func TestWhatRulesShareIsNotReplacedIfAnotherProxyHasAcknowledgedIt(t *testing.T) {
	t.Parallel()
	const policy = `
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: cors, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  cors: {allowOrigins: ["https://a.example"]}
`
	const filters = `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 2}
spec:
  gatewayClassName: gatewright
  listeners:
  - name: http
    port: 80
    protocol: HTTP
    filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v1, port: 80}}}]}
`
	for name, c := range map[string]struct {
		objects, fault string
		want           []string
	}{
		"a policy on the Gateway": {policy, "SecurityPolicy infra/cors", []string{
			"HTTPRoute infra/a []", "HTTPRoute infra/b []", "SecurityPolicy infra/cors []",
		}},
		"filters of the listener": {filters, "Gateway infra/web", []string{
			"Gateway infra/web [http]", "HTTPRoute infra/a []", "HTTPRoute infra/a [http]", "HTTPRoute infra/b []", "HTTPRoute infra/b [http]",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, proxies := &recorder{live: true, ready: map[string]bool{"a": true}}, &insteads{Cache: xds.NewCache()}
			p := l.planeOf(t, proxies)
			put(t, p, c.objects+"---"+routeFor("a", 1, "a.example", "/")+"---"+routeFor("b", 1, "b.example", "/"))
			p.config.step()
			before := hostVersion(p, "a.example")
			l.said, l.live, l.acked = nil, false, true
			for _, domain := range []string{"a.example", "b.example"} {
				nackDomain(p, domain, func(r *xds.NACK) { r.Filters = true })
			}
			p.config.step()
			p.config.step()
			if got := hostVersion(p, "a.example"); got != before {
				t.Errorf("the host has version %s at all proxies", got)
			}
			last := ir.ParseTableID("infra/web/80").Host(proxies.hosts[len(proxies.hosts)-1])
			if version(proxies.last) != version(closedTranslation(last).resource) {
				t.Error("the proxy does not get a closed host")
			}
			if got := l.nackReports(); !slices.Equal(got, c.want) {
				t.Errorf("reported by %q, want %q", got, c.want)
			}
			one := "host a.example and 1 more of listener http because of " + c.fault +
				": no such thing; all requests there are answered 500 at proxy a"
			if !slices.ContainsFunc(l.said, func(s string) bool { return strings.Contains(s, one) }) {
				t.Errorf("said %q", l.said)
			}

			// A replica without that proxy reports the same.
			there := &recorder{live: true, acked: true}
			other := there.plane(t)
			put(t, other, c.objects+"---"+routeFor("a", 1, "a.example", "/")+"---"+routeFor("b", 1, "b.example", "/"))
			other.config.step()
			there.said = nil
			for key, content := range l.offers {
				other.Offered("first", key, hostVersion(other, strings.TrimPrefix(key, "host@infra/web/80|")), content)
			}
			other.config.step()
			if got := there.nackReports(); !slices.Equal(got, c.want) {
				t.Errorf("reported at the other replica by %q, want %q", got, c.want)
			}
			if got := hostVersion(other, "a.example"); got != before {
				t.Errorf("the host has version %s at the other replica", got)
			}
			l.ready = map[string]bool{}
			if p.config.step(); len(l.offers) > 0 {
				t.Errorf("after the proxy is gone, its replica offers %v", slices.Collect(maps.Keys(l.offers)))
			}
		})
	}
}

// TestManyNACKsWaitForTheAnswersOfOtherProxies has a proxy reject more hosts at once than have their details kept, before another answers.
func TestManyNACKsWaitForTheAnswersOfOtherProxies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = 1100
		l := &recorder{live: true, ready: map[string]bool{"a": true}}
		p := l.plane(t)
		for i := range count {
			put(t, p, routeFor(fmt.Sprintf("r%d", i), 1, fmt.Sprintf("h%d.example", i), "/"))
		}
		p.config.step()
		before := map[string]string{}
		l.live, l.unanswered = false, 1
		for i := range count {
			domain := fmt.Sprintf("h%d.example", i)
			before[domain] = hostVersion(p, domain)
			nackDomain(p, domain, func(r *xds.NACK) { r.Filters = true })
		}
		p.config.step()
		l.acked = true
		p.config.step()
		for domain, version := range before {
			if got := hostVersion(p, domain); got != version {
				t.Fatalf("host %s has version %s", domain, got)
			}
		}
	})
}

// TestARouteIsAcceptedWhenTheProxyThatRejectsItIsGone has nothing else happen meanwhile. However many proxies disconnect at a time, there
// is one step.
func TestARouteIsAcceptedWhenTheProxyThatRejectsItIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &recorder{live: true, acked: true, ready: map[string]bool{"a": true}}
		p := l.plane(t)
		put(t, p, routeFor("a", 1, "a.example", "/"))
		p.config.step()
		nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
		p.config.step()
		rounds, done := 0, make(chan struct{})
		go func() {
			for {
				select {
				case <-p.config.inbox.wake:
					rounds++
					p.config.step()
				case <-done:
					return
				}
			}
		}()
		synctest.Wait()
		l.said, l.ready, rounds = nil, map[string]bool{}, 0
		for range 100 {
			l.disconnected()
		}
		time.Sleep(2 * time.Second)
		close(done)
		synctest.Wait()
		if !slices.Equal(l.said, []string{"accept HTTPRoute infra/a"}) || rounds != 1 {
			t.Errorf("said %q after %d rounds", l.said, rounds)
		}
	})
}

// TestAPanicOfWhatSomeProxiesGetClosesTheHostThere has the stage panic that makes it.
func TestAPanicOfWhatSomeProxiesGetClosesTheHostThere(t *testing.T) {
	t.Parallel()
	l, proxies := &recorder{live: true, acked: true}, &insteads{Cache: xds.NewCache()}
	p := l.planeOf(t, proxies)
	p.fault = func(stage, _ string) {
		if stage == stageApart {
			panic("no such stage")
		}
	}
	put(t, p, routeFor("a", 1, "a.example", "/good"))
	p.config.step()
	put(t, p, routeFor("a", 2, "a.example", "/new"))
	p.config.step()
	l.live = false
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
	p.config.step()
	if version(proxies.last) != version(closedTranslation(ir.ParseHostID("infra/web/80|a.example")).resource) {
		t.Errorf("proxies get something instead of %q", proxies.hosts)
	}
}

// TestAHostIsSentAsAListToSomeProxies has proxies reject a host as a tree: all of them, which then reject a route of it, or some of them.
func TestAHostIsSentAsAListToSomeProxies(t *testing.T) {
	t.Parallel()
	many := func(generation int) string {
		var rules strings.Builder
		for i := range 100 {
			fmt.Fprintf(&rules, "  - {matches: [{path: {value: /%d/%d}}], backendRefs: [{name: v1, port: 80}]}\n", generation, i)
		}
		return fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: %d}
spec:
  parentRefs: [{name: web}]
  rules:
`, generation) + rules.String()
	}
	listed := func() (*recorder, *insteads, *Pipeline, string) {
		l, proxies := &recorder{live: true}, &insteads{Cache: xds.NewCache()}
		p := l.planeOf(t, proxies)
		put(t, p, many(1))
		p.config.step()
		nackHost(p, "infra/web", func(r *xds.NACK) { r.Together = true })
		p.config.step()
		return l, proxies, p, hostVersion(p, "*")
	}
	l, proxies, p, list := listed()
	put(t, p, many(2))
	p.config.step()
	l.live, l.acked = false, true
	nackHost(p, "infra/web", nil)
	p.config.step()
	if got := version(proxies.last); got != list {
		t.Errorf("proxies get version %s instead of the route, want %s", got, list)
	}

	some := &recorder{live: true, acked: true}
	others := &insteads{Cache: xds.NewCache()}
	p = some.planeOf(t, others)
	put(t, p, many(1))
	p.config.step()
	some.said = nil
	tree := hostVersion(p, "*")
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Together = true })
	p.config.step()
	if got := version(others.last); got != list || hostVersion(p, "*") != tree {
		t.Errorf("proxies that reject the tree get version %s, want %s; others get %s", got, list, hostVersion(p, "*"))
	}
	some.recorded(t)
}

// TestRoutesThatSomeProxiesRejectTakeNoPlaceOfOthers has one proxy reject as many routes as have their good versions served, and all
// proxies another one, and then one of these.
func TestRoutesThatSomeProxiesRejectTakeNoPlaceOfOthers(t *testing.T) {
	t.Parallel()
	const count = 256
	l := &recorder{live: true}
	p := l.plane(t)
	var some []string
	for generation := range 2 {
		for i := range count {
			path := fmt.Sprintf("/%d/%d", generation, i)
			put(t, p, strings.Replace(aRoute(generation+1, path), "name: r,", fmt.Sprintf("name: r%d,", i), 1))
		}
		put(t, p, routeFor("a", generation+1, "a.example", fmt.Sprintf("/%d", generation)))
		p.config.step()
	}
	for i := range count {
		some = append(some, fmt.Sprintf("HTTPRoute/infra/r%d/0/0", i))
	}
	l.live, l.acked = false, true
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Routes = some })
	p.config.step()
	l.acked = false
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
	p.config.step()
	host, _ := p.graph.hosts.Get(nil, ir.ParseHostID("infra/web/80|a.example"))
	if got := host.Rules[0]; got.Match.Path.Value != "/0" || got.Fail != nil {
		t.Errorf("%+v is served", got)
	}
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Routes = some[:1] })
	p.config.step()
	if got := served(p, "infra/web"); !slices.Contains(got, "/0/0") || slices.Contains(got, "/1/0") {
		t.Errorf("%q are served", got)
	}
}

// TestAHostIsClosedForAllWhenNoProxyTakesIt has one proxy reject what the rules of a host share, and the other one that took it reject it
// after a restart.
func TestAHostIsClosedForAllWhenNoProxyTakesIt(t *testing.T) {
	t.Parallel()
	l := &recorder{acked: true}
	p := l.plane(t)
	put(t, p, routeFor("a", 1, "a.example", "/"))
	p.config.step()
	rejects := func() {
		nackDomain(p, "a.example", func(r *xds.NACK) { r.Filters = true })
		p.config.step()
		p.config.step()
	}
	if rejects(); hostVersion(p, "a.example") == "closed" {
		t.Fatal("the host is closed for all")
	}
	l.acked = false
	if rejects(); hostVersion(p, "a.example") != "closed" {
		t.Error("the host is not closed for all")
	}
}

// TestNACKsThatWaitHaveOneTimer has many steps while a NACK waits for the answers of other proxies.
func TestNACKsThatWaitHaveOneTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &recorder{unanswered: 1}
		p := l.plane(t)
		put(t, p, routeFor("a", 1, "a.example", "/"))
		p.config.step()
		nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
		for range 20 {
			p.config.step()
			time.Sleep(2 * time.Millisecond)
		}
		steps := 0
		for range 100 {
			time.Sleep(5 * time.Millisecond)
			select {
			case <-p.config.inbox.wake:
				steps++
				p.config.step()
			default:
			}
		}
		if steps > 12 {
			t.Errorf("%d steps in half a second", steps)
		}
	})
}
