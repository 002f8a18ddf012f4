package pipeline

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/xds"
)

// A tenant of shared proxies can write neither lines of text nor lines that are another's.
func TestLinesOfSharedProxiesNameTheirGateway(t *testing.T) {
	t.Parallel()
	in, err := os.ReadFile("testdata/GatewayParameters-shared/in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g := newGraph()
	g.objects.System = "gatewright-system"
	for _, c := range append(keys(), resolvetest.Load(t, base+string(in))...) {
		g.objects.Apply(c)
	}
	g.memo.Run()

	port, _ := g.ports.Get(nil, ir.ParsePortID("infra/gw|80"))
	port.TargetPort, _ = g.shared.sockets.Get(nil, ir.ParsePortID("infra/gw|80"))
	port.LoggedAs = "infra/gw"
	want, err := xds.NewResource(listenertranslate.Listener(ir.ParseName("infra/gw"), port, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := g.shared.listeners.Get(nil, ir.ParsePortID("infra/gw|80")); got.resource == nil || got.resource.Version() != want.Version() {
		t.Error("its lines do not name the Gateway")
	}
	forger, _ := g.ports.Get(nil, ir.ParsePortID("infra/forger|80"))
	for _, log := range forger.Logs {
		if log.Type == ir.LogText {
			t.Errorf("a tenant writes %+v", log)
		}
	}
}

// TestAGatewayThatLeavesSharedProxiesLeavesNoHostThere has one of the shared proxies reject a host, and the Gateway move to its own ones.
func TestAGatewayThatLeavesSharedProxiesLeavesNoHostThere(t *testing.T) {
	t.Parallel()
	const classes = base + `
kind: ProxyConfig
metadata: {namespace: infra, name: class}
spec: {placement: Shared}
---
kind: GatewayClass
metadata: {name: many, uid: c}
spec:
  controllerName: gatewright.dev/gateway-controller
  parametersRef: {group: gatewright.dev, kind: ProxyConfig, namespace: infra, name: class}
---
kind: Gateway
metadata: {namespace: infra, name: stays, generation: 1, uid: s}
spec: {gatewayClassName: many, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
`
	const web = `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1, uid: w}
spec: {gatewayClassName: many, listeners: [{name: http, port: 80, protocol: HTTP}]}
`
	moved := strings.Replace(web, "many", "gatewright", 1)
	shared := xds.GroupID(ir.SharedFleet("many"))
	start := func(objects string) (*recorder, *insteads, *Pipeline) {
		l, proxies := &recorder{acked: true, offers: map[string][]byte{}}, &insteads{Cache: xds.NewCache()}
		out := discardAll()
		out.Proxies, out.Statuses, out.Convergence, out.Peers = proxies, l, l, l
		p := New(out, prometheus.NewRegistry(), WithSystemNamespace("gatewright-system"))
		put(t, p, objects)
		p.Start()
		return l, proxies, p
	}
	l, proxies, p := start(classes + web + "---" + routeFor("a", 1, "a.example", "/"))
	current, _ := p.graph.virtualHosts.Get(nil, ir.ParseHostID("infra/web/80|a.example"))
	p.NACKed(xds.Identity{Group: shared, Pod: "a"}, xds.NACK{
		Type: xds.VirtualHost, Table: "infra/web/80", Name: "a.example", Version: version(current.resource),
		Routes: []string{"HTTPRoute/infra/a/0/0"}, Reason: "no such thing",
	})
	p.config.step()
	if len(proxies.hosts) != 1 || len(l.offers) != 1 {
		t.Fatalf("proxies get something instead of %q, and other replicas %d offers", proxies.hosts, len(l.offers))
	}
	put(t, p, moved)
	for range 3 {
		p.config.step()
	}
	_, fresh, _ := start(classes + moved + "---" + routeFor("a", 1, "a.example", "/"))
	if got, want := proxies.states[shared], fresh.states[shared]; got != want {
		t.Errorf("the state of the shared proxies is %s, want %s", got, want)
	}
	if size := p.quarantine.Size(); size.Routes > 0 || len(l.offers) > 0 {
		t.Errorf("%d routes are in quarantine at proxies that do not serve them; offers are %v", size.Routes, l.offers)
	}
}
