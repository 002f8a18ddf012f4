package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// recorder records the outcomes of routes, and what proxies have acknowledged.
type recorder struct {
	discard
	live bool
	// acked reports that another proxy has acknowledged everything, unanswered is how many have not if none has, beside those of silent. Ready
	// has the proxies that are connected, nil for all.
	acked      bool
	unanswered int
	silent     []string
	ready      map[string]bool
	said       []string
	offers     map[string][]byte
	// disconnected is to be called for each proxy that disconnects.
	disconnected func()
}

func (l *recorder) SetRoute(_ store.Kind, key string, o outcome.Route) {
	l.said = append(l.said, fmt.Sprintf("route %s generation %d", key, o.Generation))
}

func (l *recorder) Forget(_ store.Kind, key string) { l.said = append(l.said, "forget "+key) }

func (l *recorder) Reject(kind store.Kind, key, _ string, r outcome.Rejection) {
	byReason := map[string][]string{}
	if r.Message != "" {
		byReason[r.Message] = nil
	}
	for listener, reason := range r.Listeners {
		byReason[reason] = append(byReason[reason], listener)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		slices.Sort(byReason[reason])
		l.said = append(l.said, fmt.Sprintf("refuse %s %s %v: %s", kind, key, byReason[reason], reason))
	}
}

func (l *recorder) Accept(kind store.Kind, key, _ string) {
	l.said = append(l.said, fmt.Sprintf("accept %s %s", kind, key))
}

func (l *recorder) Acked(_ xds.GroupID, _ string, but map[string]struct{}) (acked, ready int) {
	if l.acked {
		return 1, 2
	}
	ready = l.unanswered
	for _, pod := range l.silent {
		if _, left := but[pod]; !left {
			ready++
		}
	}
	return 0, ready
}
func (l *recorder) Knows(_ xds.GroupID, pod string) bool { return l.ready == nil || l.ready[pod] }
func (l *recorder) Live(store.Kind, string, string) bool { return l.live }
func (l *recorder) OnDisconnect(ended func())            { l.disconnected = ended }
func (l *recorder) Offer(key, _ string, instead []byte)  { l.offers[key] = instead }
func (l *recorder) Withdraw(key string)                  { delete(l.offers, key) }

func (l *recorder) recorded(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(l.said, want) {
		t.Errorf("said %q, want %q", l.said, want)
	}
	l.said = nil
}

func (l *recorder) plane(t *testing.T) *Pipeline {
	t.Helper()
	return l.planeOf(t, xds.NewCache())
}

func (l *recorder) planeOf(t *testing.T, proxies Proxies) *Pipeline {
	t.Helper()
	l.offers = map[string][]byte{}
	out := discardAll()
	out.Proxies, out.Statuses, out.Convergence, out.Peers = proxies, l, l, l
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

// notProgrammed is what a route reports of listener http if proxies reject that.
func notProgrammed(reason string) string {
	return "listener http of Gateway infra/web is not programmed: " + reason + "; correct the listener, its certificates or the policies on " +
		"it, see its conditions"
}

// served are the paths that the routes of a Gateway's virtual hosts match, with 500 behind those that fail.
func served(p *Pipeline, gateway string) []string {
	var paths []string
	for _, key := range p.graph.hosts.Keys(nil) {
		host, _ := p.graph.hosts.Get(nil, key)
		if key.Table.Gateway != gateway {
			continue
		}
		for _, rule := range host.Rules {
			path := rule.Match.Path.Value
			if rule.Fail != nil {
				path += fmt.Sprint(" ", rule.Fail.StatusCode)
			}
			paths = append(paths, path)
		}
	}
	return paths
}

func (l *recorder) serves(t *testing.T, p *Pipeline, gateway string, want ...string) {
	t.Helper()
	if got := served(p, gateway); !slices.Equal(got, want) {
		t.Errorf("%s serves %q, want %q", gateway, got, want)
	}
}

// nackHost has a proxy of a Gateway refuse the only virtual host as it is now.
func nackHost(p *Pipeline, gateway string, change func(*xds.NACK)) {
	table := gateway + "/80"
	current, _ := p.graph.virtualHosts.Get(nil, ir.ParseTableID(table).Host("*"))
	r := xds.NACK{Type: xds.VirtualHost, Table: table, Name: "*", Version: version(current.resource), Reason: "no such thing"}
	if r.Routes = []string{"HTTPRoute/infra/r/0/0"}; change != nil {
		change(&r)
	}
	p.NACKed(xds.Identity{Group: ownGroup(gateway)}, r)
}
