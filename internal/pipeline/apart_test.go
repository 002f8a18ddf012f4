package pipeline

import (
	"maps"
	"slices"
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
}

func (i *insteads) Apply(changes []xds.Change) map[xds.GroupID]string {
	for _, c := range changes {
		if c.Instead != nil {
			i.hosts, i.last = append(i.hosts, c.Name), c.Instead
		}
	}
	return i.Cache.Apply(changes)
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
		"instead, until the route changes at proxy a, and other proxies serve this version; replace those that are outdated"
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

// TestANACKWaitsForTheAnswersOfOtherProxies has one proxy reject a route before another one has answered.
func TestANACKWaitsForTheAnswersOfOtherProxies(t *testing.T) {
	t.Parallel()
	for _, takes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := &recorder{live: true, ready: map[string]bool{"a": true}}
			p := l.plane(t)
			put(t, p, routeFor("a", 1, "a.example", "/new"))
			p.config.step()
			before := hostVersion(p, "a.example")
			l.live, l.unanswered = false, 1
			nackDomain(p, "a.example", func(r *xds.NACK) { r.Routes = []string{"HTTPRoute/infra/a/0/0"} })
			p.config.step()
			if got := hostVersion(p, "a.example"); got != before {
				t.Fatalf("the host has version %s before the other proxy has answered", got)
			}
			l.acked = takes
			time.Sleep(2 * time.Second)
			p.config.step()
			if replaced := hostVersion(p, "a.example") != before; replaced == takes {
				t.Errorf("the other proxy takes the route: %t; it is replaced for all: %t", takes, replaced)
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
		"answered 500 until the route changes at some proxies, and other proxies serve this version; replace those that are outdated")
	if got := hostVersion(p, "a.example"); got != before {
		t.Errorf("the host has version %s", got)
	}
	if len(l.offers) > 0 {
		t.Errorf("this replica offers what it knows from another one: %v", slices.Collect(maps.Keys(l.offers)))
	}

	there.ready = nil
	elsewhere.config.step()
	if len(there.offers) > 0 || elsewhere.quarantine.Size().Routes > 0 {
		t.Errorf("after the proxy is gone, its replica offers %v", slices.Collect(maps.Keys(there.offers)))
	}
	p.Offered("other", key, "", nil)
	p.config.step()
	l.recorded(t, "accept HTTPRoute infra/a")
}
