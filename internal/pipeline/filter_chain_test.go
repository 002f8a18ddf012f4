package pipeline

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/xds"
)

// sharedPort is a Gateway with HTTPS, and a ListenerSet of another namespace at its port that has a narrower hostname.
const sharedPort = `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec:
  gatewayClassName: gatewright
  allowedListeners: {namespaces: {from: All}}
  listeners:
    - {name: wide, hostname: '*.corp.example', port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
---
kind: ListenerSet
metadata: {namespace: tenant, name: set, generation: 1}
spec:
  parentRef: {name: web, namespace: infra}
  listeners: [{name: own, hostname: admin.corp.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}]
---
kind: HTTPRoute
metadata: {namespace: tenant, name: r, generation: 1}
spec:
  parentRefs: [{kind: ListenerSet, name: set}]
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /guarded}}}]}]
---
kind: HTTPRoute
metadata: {namespace: infra, name: open, generation: 1}
spec:
  parentRefs: [{name: web}]
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /open}}}]}]
---`

// another is one more listener of that port.
const another = `
kind: ListenerSet
metadata: {namespace: other, name: set, generation: 1}
spec:
  parentRef: {name: web, namespace: infra}
  listeners: [{name: late, hostname: late.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}]
`

// ofTenant is a ClientTrafficPolicy on the ListenerSet of the tenant.
func ofTenant(settings string) string {
	return `
apiVersion: gatewright.dev/v1alpha1
kind: ClientTrafficPolicy
metadata: {namespace: tenant, name: p, generation: 1}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: ListenerSet, name: set}], ` + settings + `}
`
}

// sharedByClass has the Gateway share its proxies.
const sharedByClass = `
---
kind: ProxyConfig
metadata: {namespace: infra, name: class}
spec: {placement: Shared}
---
kind: GatewayClass
metadata: {name: gatewright, uid: c}
spec:
  controllerName: gatewright.dev/gateway-controller
  parametersRef: {group: gatewright.dev, kind: ProxyConfig, namespace: infra, name: class}
`

// tenantKeys are the keys of this package, for each of these tenants.
func tenantKeys() []store.Change {
	changes := keys()
	for _, namespace := range []string{"tenant", "other"} {
		changes = append(changes, store.Change{Kind: store.Secret, Key: namespace + "/cert", Object: changes[0].Object})
	}
	return changes
}

// tenantChain is the name of the chain of the tenant's listener.
const tenantChain = "tenant/set/own"

var httpsPort = ir.ParsePortID("infra/web|443")

// wantPort expects that proxies have the listener of the port with these chains closed.
func wantPort(t *testing.T, when string, p *Pipeline, closed ...string) {
	t.Helper()
	port, _ := p.graph.ports.Get(nil, httpsPort)
	port.Chains = slices.Clone(port.Chains)
	for i := range port.Chains {
		if slices.Contains(closed, port.Chains[i].Name) {
			port.Chains[i] = port.Chains[i].Closed()
		}
	}
	want, err := xds.NewResource(listenertranslate.Listener(ir.ParseName(httpsPort.Gateway), port, nil))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := p.graph.listeners.Get(nil, httpsPort)
	if version(got.resource) != want.Version() {
		t.Errorf("%s: proxies have version %q of the port, want %q, with %q closed; not valid: %v", when, version(got.resource), want.Version(),
			closed, got.invalid)
	}
	var invalid []string
	for _, part := range got.invalid {
		invalid = append(invalid, part.Owner)
	}
	if !slices.Equal(invalid, closed) {
		t.Errorf("%s: %v is not valid, want %q", when, got.invalid, closed)
	}
}

// chainReports are the objects and listeners that report a chain which is not valid.
func chainReports(l *recorder) []string {
	var found []string
	for _, said := range l.said {
		who, what, _ := strings.Cut(strings.TrimPrefix(said, "refuse "), ": ")
		if strings.Contains(what, "so that it closes connections") {
			found = append(found, who)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

const notValid = "http2: {maxConcurrentStreams: 3000000000}"

// TestAListenerThatIsNotValidLeavesOthersOfItsPortAlone has a value that proxies would reject, and that no resolver finds, in a policy of
// one tenant. Another tenant adds a listener to the port.
func TestAListenerThatIsNotValidLeavesOthersOfItsPortAlone(t *testing.T) {
	t.Parallel()
	l, proxies := &recorder{offers: map[string][]byte{}}, xds.NewCache()
	out := discardAll()
	out.Proxies, out.Statuses, out.Convergence, out.Peers = proxies, l, l, l
	p := New(out, prometheus.NewRegistry())
	for _, change := range tenantKeys() {
		p.Put(change)
	}
	put(t, p, base+sharedPort+ofTenant(notValid))
	p.Start()
	wantPort(t, "at first", p, tenantChain)
	want := []string{"ClientTrafficPolicy tenant/p []", "HTTPRoute tenant/r [tenant/set/own]", "ListenerSet tenant/set [own]"}
	if got := chainReports(l); !slices.Equal(got, want) {
		t.Errorf("it is reported by %q, want %q", got, want)
	}
	put(t, p, another)
	p.config.step()
	wantPort(t, "with a listener more", p, tenantChain)
	if secrets := p.graph.outputs()[4].describe(httpsPort.String()).Secrets; !slices.Equal(secrets, []string{"other/cert", "infra/cert"}) {
		t.Errorf("the listener waits for %q, want the certificates of the chains that are open", secrets)
	}
	l.said = nil
	put(t, p, ofTenant("http2: {maxConcurrentStreams: 30}"))
	p.config.step()
	wantPort(t, "once the policy is corrected", p)
	for _, object := range []string{"ClientTrafficPolicy tenant/p", "ListenerSet tenant/set", "HTTPRoute tenant/r"} {
		if !slices.Contains(l.said, "accept "+object) {
			t.Errorf("%s still reports it: %q", object, l.said)
		}
	}
	put(t, p, ofTenant(notValid))
	p.config.step()
	wantPort(t, "when it is not valid again", p, tenantChain)
}

// TestNoWiderListenerServesAChainThatIsNotValid has clients connect by the name of the chain, and by another one that a wider listener of
// the port has.
func TestNoWiderListenerServesAChainThatIsNotValid(t *testing.T) {
	t.Parallel()
	p := Offline(append(tenantKeys(), resolvetest.Load(t, base+sharedPort+ofTenant(notValid))...))
	config := p.Explainable()
	for name, want := range map[string]explain.Explanation{
		"admin.corp.example": {Result: explain.Closed},
		"b.corp.example":     {Result: explain.Answered, Status: http.StatusMisdirectedRequest},
	} {
		got := explain.Explain(&config, explain.Request{
			Method: http.MethodGet, Port: 443, TLS: true, HTTP2: true, ServerName: name, Host: "admin.corp.example", Path: "/",
		})
		if got.Result != want.Result || got.Status != want.Status {
			t.Errorf("a connection for %s: %s %d, want %s %d", name, got.Result, got.Status, want.Result, want.Status)
		}
	}
}

// TestAPanicOfAChainClosesIt has the stages of one chain panic. What was there before has no guard that was added since.
func TestAPanicOfAChainClosesIt(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{stageChain, stageFilterChain} {
		for _, later := range []bool{false, true} {
			armed := !later
			p := Offline(append(tenantKeys(), resolvetest.Load(t, base+sharedPort)...), WithFault(func(at, key string) {
				if armed && at == stage && key == (ir.ChainID{Port: httpsPort, Chain: tenantChain}).String() {
					panic("made to")
				}
			}))
			if later {
				wantPort(t, stage+" does not panic yet", p)
				armed = true
				put(t, p, ofTenant("timeout: {http: {idleTimeout: 5s}}"))
			}
			put(t, p, another)
			p.config.step()
			wantPort(t, stage+" panics", p, tenantChain)
			armed = false
			put(t, p, ofTenant("timeout: {http: {idleTimeout: 6s}}"))
			p.config.step()
			wantPort(t, stage+" does not panic any more", p)
		}
	}
}

// TestAListenerOfWhichNoChainIsLeftReportsIt has the stages of chains of a TLS listener panic, which has one for each hostname.
func TestAListenerOfWhichNoChainIsLeftReportsIt(t *testing.T) {
	t.Parallel()
	const objects = base + `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec:
  gatewayClassName: gatewright
  listeners:
    - {name: tls, hostname: '*.corp.example', port: 443, protocol: TLS, tls: {mode: Terminate, certificateRefs: [{name: cert}]}}
    - {name: https, hostname: web.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
---
kind: TLSRoute
metadata: {namespace: infra, name: a, generation: 1}
spec:
  parentRefs: [{name: web, sectionName: tls}]
  hostnames: [a.corp.example]
  rules: [{backendRefs: [{name: v1, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: infra, name: b, generation: 1}
spec:
  parentRefs: [{name: web, sectionName: tls}]
  hostnames: [b.corp.example]
  rules: [{backendRefs: [{name: v1, port: 80}]}]
---`
	a, b := "TLSRoute infra/a []", "TLSRoute infra/b []"
	for at, want := range map[string][]string{
		"tls/a.corp.example": {a},
		"tls/":               {"Gateway infra/web [tls]", a, "TLSRoute infra/a [tls]", b, "TLSRoute infra/b [tls]"},
	} {
		l := reportsOf(t, objects, WithFault(func(stage, key string) {
			if stage == stageFilterChain && strings.HasPrefix(key, httpsPort.String()+"|"+at) {
				panic("made to")
			}
		}))
		if got := chainReports(l); !slices.Equal(got, want) {
			t.Errorf("without the chains %s it is reported by %q, want %q", at, got, want)
		}
	}
}

// TestWhatLacksHTTP3AloneIsServed has a chain fail that is for HTTP/3, and not the one of the same listener for TCP.
func TestWhatLacksHTTP3AloneIsServed(t *testing.T) {
	t.Parallel()
	l := reportsOf(t, base+sharedPort+ofTenant("http3: {}"), WithFault(func(stage, key string) {
		if stage == stageFilterChain && strings.HasPrefix(key, httpsPort.OfQUIC().String()) {
			panic("made to")
		}
	}))
	var refused []string
	for _, said := range l.said {
		if who, what, _ := strings.Cut(said, ":"); strings.Contains(what, "so that there is no HTTP/3") {
			refused = append(refused, who)
		}
	}
	if want := []string{"refuse ClientTrafficPolicy tenant/p []"}; !slices.Equal(refused, want) || len(chainReports(l)) > 0 {
		t.Errorf("it is reported by %q, want %q; closed: %q", refused, want, chainReports(l))
	}
}

// reportsOf is what a pipeline with these objects reports.
func reportsOf(t *testing.T, objects string, options ...Option) *recorder {
	t.Helper()
	l := &recorder{offers: map[string][]byte{}}
	out := discardAll()
	out.Proxies, out.Statuses, out.Convergence, out.Peers = xds.NewCache(), l, l, l
	p := New(out, prometheus.NewRegistry(), options...)
	for _, change := range tenantKeys() {
		p.Put(change)
	}
	put(t, p, objects)
	p.Start()
	return l
}

// TestAnEditOfAListenerTranslatesNoOther counts the filter chains that an edit, and a new listener, have translated.
func TestAnEditOfAListenerTranslatesNoOther(t *testing.T) {
	t.Parallel()
	g := newGraph()
	apply := func(objects string) {
		for _, change := range resolvetest.Load(t, objects) {
			g.objects.Apply(change)
		}
	}
	for _, change := range tenantKeys() {
		g.objects.Apply(change)
	}
	apply(base + sharedPort + ofTenant("timeout: {http: {idleTimeout: 5s}}"))
	g.memo.Run()
	for _, objects := range []string{ofTenant("timeout: {http: {idleTimeout: 6s}}"), another} {
		apply(objects)
		if report := g.memo.Run(); report.Computed[stageFilterChain] != 1 || report.Changed[stageListener] != 1 {
			t.Errorf("%d filter chains are translated, and %d listeners are different, want 1 and 1", report.Computed[stageFilterChain],
				report.Changed[stageListener])
		}
	}
}

// TestWhatIsNotValidOfAPortKeepsItsListener has spans that are not valid, so that no chain is. Proxies keep what they have.
func TestWhatIsNotValidOfAPortKeepsItsListener(t *testing.T) {
	t.Parallel()
	p := Offline(append(tenantKeys(), resolvetest.Load(t, base+sharedPort+ofTenant("http3: {}"))...))
	p.graph.tracing.Set("infra/web", &ir.Tracing{
		Rate: ir.Fraction{Numerator: 1, Denominator: 1}, Attributes: []ir.SpanAttribute{{Literal: "x"}},
	})
	p.graph.memo.Run()
	for _, id := range []ir.PortID{httpsPort, httpsPort.OfQUIC()} {
		got, _ := p.graph.listeners.Get(nil, id)
		if len(got.invalid) != 1 || got.invalid[0].Owner != "" || !got.keeps() {
			t.Errorf("listener %s has a resource: %t; not valid: %v", id, got.resource != nil, got.invalid)
		}
	}
	if problems := p.Explainable().Gateways[0].Problems; slices.ContainsFunc(problems, func(problem string) bool {
		return strings.Contains(problem, "closes connections")
	}) {
		t.Errorf("explanations say that chains are closed: %q", problems)
	}
}

// TestAChainThatIsNotValidIsLeftOutOfHTTP3 has the only listener with HTTP/3 become invalid.
func TestAChainThatIsNotValidIsLeftOutOfHTTP3(t *testing.T) {
	t.Parallel()
	p := Offline(append(tenantKeys(), resolvetest.Load(t, base+sharedPort+ofTenant("http3: {}"))...))
	if quic, _ := p.graph.listeners.Get(nil, httpsPort.OfQUIC()); quic.resource == nil {
		t.Fatal("HTTP/3 is not served")
	}
	_, _ = p.graph.resourceChanges()
	put(t, p, ofTenant("http3: {}, "+notValid))
	p.config.step()
	changes, invalid := p.graph.resourceChanges()
	if !slices.ContainsFunc(changes, func(c xds.Change) bool { return c.Name == httpsPort.OfQUIC().ListenerName() && c.Resource == nil }) {
		t.Error("proxies go on with HTTP/3")
	}
	if len(invalid) != 2 {
		t.Errorf("not valid: %v, want the chain for TCP and the one for QUIC", invalid)
	}
}

// TestAChainOfSharedProxiesThatIsNotValidIsClosed has the same at proxies that Gateways share.
func TestAChainOfSharedProxiesThatIsNotValidIsClosed(t *testing.T) {
	t.Parallel()
	g := New(Outputs{}, prometheus.NewRegistry(), WithSystemNamespace("gatewright-system")).graph
	for _, change := range slices.Concat(tenantKeys(), resolvetest.Load(t, base+sharedPort+ofTenant(notValid)+sharedByClass)) {
		g.objects.Apply(change)
	}
	g.memo.Run()
	got, _ := g.shared.listeners.Get(nil, httpsPort)
	port, _ := g.ports.Get(nil, httpsPort)
	port.Chains = slices.Clone(port.Chains)
	for i := range port.Chains {
		if port.Chains[i].Name == tenantChain {
			port.Chains[i] = port.Chains[i].Closed()
		}
	}
	port.LoggedAs = httpsPort.Gateway
	port.TargetPort, _ = g.shared.sockets.Get(nil, httpsPort)
	want, err := xds.NewResource(listenertranslate.Listener(ir.ParseName(httpsPort.Gateway), port, nil))
	if err != nil {
		t.Fatal(err)
	}
	if version(got.resource) != want.Version() || port.TargetPort == 0 {
		t.Errorf("shared proxies have version %q at port %d, want %q; not valid: %v", version(got.resource), port.TargetPort, want.Version(),
			got.invalid)
	}
}
