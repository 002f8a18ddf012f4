package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// listening writes down what is said of routes and of what proxies have proved.
type listening struct {
	silent
	live bool
	said []string
}

func (l *listening) SetRoute(_ store.Kind, key string, o outcome.Route) {
	l.said = append(l.said, fmt.Sprintf("route %s generation %d", key, o.Generation))
}

func (l *listening) Forget(_ store.Kind, key string) { l.said = append(l.said, "forget "+key) }

func (l *listening) Refuse(kind store.Kind, key string, listeners []string, reason string) {
	l.said = append(l.said, fmt.Sprintf("refuse %s %s %v: %s", kind, key, listeners, reason))
}

func (l *listening) Accept(kind store.Kind, key string) {
	l.said = append(l.said, fmt.Sprintf("accept %s %s", kind, key))
}

func (l *listening) Live(store.Kind, string) bool { return l.live }

func (l *listening) heard(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(l.said, want) {
		t.Errorf("said %q, want %q", l.said, want)
	}
	l.said = nil
}

func (l *listening) plane(t *testing.T) *Pipeline {
	t.Helper()
	out := nowhere()
	out.Statuses, out.Proofs = l, l
	p := New(out, prometheus.NewRegistry())
	put(t, p, base+`
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
`)
	p.Start()
	l.said = nil
	return p
}

func put(t *testing.T, p *Pipeline, objects string) {
	t.Helper()
	for _, c := range resolvetest.Load(t, objects) {
		p.Put(c)
	}
}

func aRoute(generation int, path string) string {
	return fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: %d}
spec:
  parentRefs: [{name: web}]
  rules: [{matches: [{path: {value: %s}}], backendRefs: [{name: v1, port: 80}]}]
`, generation, path)
}

// served are the paths that the routes of the only virtual host match.
func served(p *Pipeline) []string {
	var paths []string
	for _, key := range p.quarantine.graph.hosts.Keys(nil) {
		host, _ := p.quarantine.graph.hosts.Get(nil, key)
		for _, rule := range host.Rules {
			paths = append(paths, rule.Match.Path.Value)
		}
	}
	return paths
}

func refusedHost() xds.Refusal {
	return xds.Refusal{Type: xds.VirtualHost, Name: "*", Routes: []string{"HTTPRoute/infra/r/0/0"}, Reason: "no such thing"}
}

func TestARefusedRouteIsReplacedByItsLastGoodVersionUntilItChanges(t *testing.T) {
	t.Parallel()
	l := &listening{live: true}
	p := l.plane(t)
	check := func(want ...string) {
		t.Helper()
		if got := served(p); !slices.Equal(got, want) {
			t.Errorf("serves %q, want %q", got, want)
		}
	}
	put(t, p, aRoute(1, "/good"))
	p.config.step()
	put(t, p, aRoute(2, "/bad"))
	p.config.step()
	l.heard(t, "route infra/r generation 1", "route infra/r generation 2")
	check("/bad")

	l.live = false
	p.Refused(xds.Identity{Gateway: "infra/web"}, refusedHost())
	p.config.step()
	l.heard(t, "refuse HTTPRoute infra/r []: a proxy refused generation 2: no such thing; generation 1 is served instead, until the route changes")
	check("/good")

	put(t, p, aRoute(3, "/worse"))
	p.config.step()
	check("/worse")
	p.Refused(xds.Identity{Gateway: "infra/web"}, refusedHost())
	p.config.step()
	l.heard(t, "route infra/r generation 3",
		"refuse HTTPRoute infra/r []: a proxy refused generation 3: no such thing; generation 1 is served instead, until the route changes")
	check("/good")

	p.Put(store.Change{Kind: store.HTTPRoute, Key: "infra/r"})
	p.config.step()
	l.heard(t, "forget infra/r")
	check()
}

func TestARefusedRouteThatWasNeverLiveIsLeftOut(t *testing.T) {
	t.Parallel()
	l := &listening{}
	p := l.plane(t)
	put(t, p, aRoute(1, "/bad"))
	p.config.step()
	p.Refused(xds.Identity{Gateway: "infra/web"}, refusedHost())
	p.config.step()
	l.heard(t, "route infra/r generation 1",
		"refuse HTTPRoute infra/r []: a proxy refused generation 1: no such thing; the route is left out until it changes")
	if got := served(p); len(got) > 0 {
		t.Errorf("serves %q", got)
	}
	p.Put(store.Change{Kind: store.HTTPRoute, Key: "infra/r"})
	p.config.step()
	l.heard(t, "forget infra/r")
}

func TestARefusalOfAVersionThatHasBeenReplacedIsVoid(t *testing.T) {
	t.Parallel()
	l := &listening{}
	p := l.plane(t)
	put(t, p, aRoute(1, "/bad"))
	p.config.step()
	p.Refused(xds.Identity{Gateway: "infra/web"}, refusedHost())
	put(t, p, aRoute(2, "/good"))
	p.Refused(xds.Identity{Gateway: "infra/web"}, refusedHost())
	p.config.step()
	l.heard(t, "route infra/r generation 1", "route infra/r generation 2")
}

func TestARefusedResourceIsTracedToItsObjects(t *testing.T) {
	t.Parallel()
	l := &listening{}
	p := l.plane(t)
	put(t, p, aRoute(1, "/"))
	p.config.step()
	l.said = nil
	backend := p.quarantine.graph.clusters.Keys(nil)[0]
	_, name := splitKey(backend)
	p.Refused(xds.Identity{Gateway: "infra/web"}, xds.Refusal{Type: xds.Cluster, Name: name, Reason: "no such thing"})
	p.Refused(xds.Identity{Gateway: "infra/web"}, xds.Refusal{Type: xds.Listener, Name: "infra/web/80", Reason: "no such port"})
	p.config.step()
	slices.Sort(l.said)
	l.heard(t, "refuse Gateway infra/web [http]: a proxy refused listener infra/web/80: no such port",
		"refuse HTTPRoute infra/r []: a proxy refused backend "+name+": no such thing")
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
