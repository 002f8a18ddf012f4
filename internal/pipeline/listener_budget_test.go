package pipeline

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// manyConnections is a TLS listener of a tenant at a port that others use too, with routes for a hostname each. The Gateway has a listener
// for wider hostnames.
func manyConnections(routes int) string {
	var b strings.Builder
	b.WriteString(sharedPort + `
kind: Service
metadata: {namespace: tenant, name: v1}
spec: {ports: [{port: 80}]}
---
kind: ListenerSet
metadata: {namespace: tenant, name: tls, generation: 1}
spec:
  parentRef: {name: web, namespace: infra}
  listeners:
    - {name: tls, hostname: '*.tls.corp.example', port: 443, protocol: TLS, tls: {mode: Terminate, certificateRefs: [{name: cert}]}}
---`)
	for i := range routes {
		fmt.Fprintf(&b, `
kind: TLSRoute
metadata: {namespace: tenant, name: r%d, generation: 1, creationTimestamp: "2026-01-01T00:00:%02dZ"}
spec: {parentRefs: [{kind: ListenerSet, name: tls}], hostnames: [h%d.tls.corp.example], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---`, i, i, i)
	}
	return b.String()
}

// certificateNames is a policy of the tenant that is in force for the connections, with so many names of 250 characters.
func certificateNames(count int) string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("{type: Exact, value: %03d%s}", i, strings.Repeat("n", 247))
	}
	settings := "tls: {clientValidation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}], subjectAltNames: {dnsNames: [" +
		strings.Join(names, ", ") + "]}}}"
	return strings.Replace(ofTenant(settings), "name: set}", "name: tls}", 1)
}

// authoritiesOfTenant is the bundle that the policy names.
func authoritiesOfTenant() []store.Change {
	own := tenantKeys()
	i := slices.IndexFunc(own, func(c store.Change) bool { return c.Kind == store.ConfigMap && c.Key == "infra/ca" })
	return append(own, store.Change{Kind: store.ConfigMap, Key: "tenant/ca", Object: own[i].Object})
}

// withListenerBytes is a pipeline with this limit, and what it reports.
func withListenerBytes(t *testing.T, limit int, objects string) (*Pipeline, *recorder) {
	t.Helper()
	l, set := &recorder{offers: map[string][]byte{}}, limits.Defaults()
	set.ListenerBytes = limit
	out := discardAll()
	out.Proxies, out.Statuses, out.Convergence, out.Peers = xds.NewCache(), l, l, l
	p := New(out, prometheus.NewRegistry(), WithLimits(set))
	for _, change := range authoritiesOfTenant() {
		p.Put(change)
	}
	put(t, p, objects)
	p.Start()
	return p, l
}

// connects is what becomes of a request for a host by a connection of its own.
func connects(p *Pipeline, host string) string {
	config := p.Explainable()
	got := explain.Explain(&config, explain.Request{Method: http.MethodGet, Port: 443, TLS: true, ServerName: host, Host: host, Path: "/"})
	if got.Result == explain.Answered {
		return fmt.Sprint(got.Status)
	}
	return string(got.Result)
}

// beyondListenerBytes are the objects and listeners that report the limit.
func (l *recorder) beyondListenerBytes() []string {
	var found []string
	for _, said := range l.said {
		who, what, _ := strings.Cut(strings.TrimPrefix(said, "refuse "), ": ")
		if strings.Contains(what, "limit listenerBytes") {
			found = append(found, who)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestListenersHaveRoomForSoManyBytes has a tenant whose policy is repeated for each hostname of its TLSRoutes, and another tenant who adds
// a listener to the port.
func TestListenersHaveRoomForSoManyBytes(t *testing.T) {
	t.Parallel()
	const limit, room = 100_000, 3_000
	p, l := withListenerBytes(t, limit, base+manyConnections(8)+certificateNames(64))
	put(t, p, another)
	p.config.step()
	got, _ := p.graph.listeners.Get(nil, httpsPort)
	if bytes := got.resource.Bytes(); bytes > limit+room {
		t.Errorf("the listener has %d bytes", bytes)
	}
	for host, want := range map[string]string{
		"h0.tls.corp.example": string(explain.Passed),
		"h7.tls.corp.example": string(explain.Closed),
		"x.tls.corp.example":  string(explain.Closed),
		"admin.corp.example":  string(explain.Redirected),
		"wide.corp.example":   string(explain.Redirected),
		"late.example":        "404",
	} {
		if got := connects(p, host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
	refused := l.beyondListenerBytes()
	if !slices.Contains(refused, "TLSRoute tenant/r7 []") || slices.Contains(refused, "TLSRoute tenant/r0 []") {
		t.Errorf("it is reported by %q", refused)
	}
	for _, who := range refused {
		if !strings.HasPrefix(who, "TLSRoute tenant/r") {
			t.Errorf("%s reports it", who)
		}
	}
	l.said = nil
	put(t, p, certificateNames(1))
	p.config.step()
	if got := connects(p, "h7.tls.corp.example"); got != string(explain.Passed) || !slices.Contains(l.said, "accept TLSRoute tenant/r7") {
		t.Errorf("once there is room, h7.tls.corp.example: %s; %q", got, l.said)
	}
}

// TestTheOrderOfObjectsDoesNotDecideWhichListenersHaveRoom computes the same from other orders of objects, and by changes.
func TestTheOrderOfObjectsDoesNotDecideWhichListenersHaveRoom(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	set := limits.Defaults()
	set.ListenerBytes = limit
	objects := append(authoritiesOfTenant(), resolvetest.Load(t, base+manyConnections(8)+certificateNames(64)+"---"+another)...)
	changed, _ := withListenerBytes(t, limit, base+manyConnections(6)+certificateNames(1))
	for _, later := range []string{certificateNames(64), manyConnections(8), another} {
		put(t, changed, base+later)
		changed.config.step()
	}
	pipelines := []*Pipeline{changed}
	for range 2 {
		slices.Reverse(objects)
		pipelines = append(pipelines, Offline(objects, WithLimits(set)))
	}
	want, _ := changed.graph.listeners.Get(nil, httpsPort)
	for i, p := range pipelines {
		if got, _ := p.graph.listeners.Get(nil, httpsPort); version(got.resource) != version(want.resource) || got.resource == nil {
			t.Errorf("%d: the listener has version %q, want %q", i, version(got.resource), version(want.resource))
		}
	}
}

// TestListenersOfSharedProxiesHaveRoomForSoManyBytes has Gateways share their proxies.
func TestListenersOfSharedProxiesHaveRoomForSoManyBytes(t *testing.T) {
	t.Parallel()
	const limit, room = 100_000, 3_000
	set := limits.Defaults()
	set.ListenerBytes = limit
	objects := base + manyConnections(8) + certificateNames(64) + sharedByClass
	p := Offline(append(authoritiesOfTenant(), resolvetest.Load(t, objects)...), WithLimits(set), WithSystemNamespace("gatewright-system"))
	got, _ := p.graph.shared.listeners.Get(nil, httpsPort)
	if got.resource == nil || got.resource.Bytes() > limit+room || got.resource.Bytes() < limit/2 {
		t.Errorf("the listener is there: %t; not valid: %v", got.resource != nil, got.invalid)
	}
}

// TestNamesOfListenersWithoutRoomAreBounded has so many hostnames that there is no room for all their names. None of the tenant is served.
func TestNamesOfListenersWithoutRoomAreBounded(t *testing.T) {
	t.Parallel()
	p, _ := withListenerBytes(t, 400, base+manyConnections(40))
	port, _ := p.graph.servedPort(nil, httpsPort)
	names := 0
	for _, chain := range port.Chains {
		if strings.HasSuffix(chain.ServerName, ".tls.corp.example") {
			names++
		}
		if chain.Stream != nil {
			t.Errorf("%s is served", chain.Name)
		}
	}
	if names == 0 || names > 20 {
		t.Errorf("there are %d names", names)
	}
}

// TestAListenerWithoutRoomReportsIt has a policy with long headers at listeners of HTTPS, and HTTP/3.
func TestAListenerWithoutRoomReportsIt(t *testing.T) {
	t.Parallel()
	p, l := withListenerBytes(t, 30_000, base+sharedPort+ofTenant("http3: {}, headers: {earlyRequestHeaders: {set: [{name: x-a, value: "+
		strings.Repeat("v", 16_000)+"}]}, lateResponseHeaders: {set: [{name: x-b, value: "+strings.Repeat("v", 16_000)+"}]}}"))
	want := []string{"HTTPRoute tenant/r [tenant/set/own]", "ListenerSet tenant/set [own]"}
	if got := l.beyondListenerBytes(); !slices.Equal(got, want) {
		t.Errorf("it is reported by %q, want %q", got, want)
	}
	if got := connects(p, "admin.corp.example"); got != string(explain.Closed) {
		t.Errorf("admin.corp.example: %s", got)
	}
	if got := connects(p, "wide.corp.example"); got != string(explain.Redirected) {
		t.Errorf("wide.corp.example: %s", got)
	}
	if quic, _ := p.graph.listeners.Get(nil, httpsPort.OfQUIC()); quic.resource != nil {
		t.Error("HTTP/3 is served")
	}
	if secrets := p.graph.outputs()[4].describe(httpsPort.String()).Secrets; !slices.Equal(secrets, []string{"infra/cert"}) {
		t.Errorf("the listener waits for %q", secrets)
	}
	config := p.Explainable()
	if problems := config.Gateways[0].Problems; !slices.ContainsFunc(problems, func(problem string) bool {
		return strings.HasPrefix(problem, "listener "+tenantChain+": connections for admin.corp.example are closed")
	}) {
		t.Errorf("explanations say %q", problems)
	}
	if ir.ParsePortID("infra/web|443") != httpsPort.OfQUIC().OfTCP() {
		t.Error("the port beside HTTP/3 is another one")
	}
}

// connectionsOfAnother is a TLS listener of the tenant for routes of all namespaces, with so many routes of another namespace that have 16
// long hostnames each.
func connectionsOfAnother(routes int) string {
	var b strings.Builder
	b.WriteString(sharedPort + `
kind: Service
metadata: {namespace: other, name: v1}
spec: {ports: [{port: 80}]}
---
kind: ListenerSet
metadata: {namespace: tenant, name: tls, generation: 1}
spec:
  parentRef: {name: web, namespace: infra}
  listeners:
    - name: tls
      hostname: '*.tls.corp.example'
      port: 443
      protocol: TLS
      allowedRoutes: {namespaces: {from: All}}
      tls: {mode: Terminate, certificateRefs: [{name: cert}]}
---`)
	for i := range routes {
		var names []string
		for j := range 16 {
			names = append(names, longName(i, j))
		}
		fmt.Fprintf(&b, `
kind: TLSRoute
metadata: {namespace: other, name: r%d, generation: 1, creationTimestamp: "2026-01-01T00:00:%02dZ"}
spec: {parentRefs: [{kind: ListenerSet, name: tls, namespace: tenant}], hostnames: [%s], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---`, i, i, strings.Join(names, ", "))
	}
	return b.String()
}

func longName(route, n int) string {
	return fmt.Sprintf("h%d-%d%s.tls.corp.example", route, n, strings.Repeat("n", 50))
}

// TestTheHostnameOfAListenerStaysClosed has a route for the hostname of the listener itself, the youngest of a namespace that has more
// names than there is room for. A wider listener must not get its connections.
func TestTheHostnameOfAListenerStaysClosed(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"", "hostnames: ['*.tls.corp.example'],"} {
		p, l := withListenerBytes(t, 20_000, base+connectionsOfAnother(25)+`
kind: TLSRoute
metadata: {namespace: other, name: own, generation: 1, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{kind: ListenerSet, name: tls, namespace: tenant}], `+own+` rules: [{backendRefs: [{name: v1, port: 80}]}]}
---`)
		p.config.step()
		for host, want := range map[string]string{
			"x.tls.corp.example": string(explain.Closed), longName(24, 15): string(explain.Closed), "wide.corp.example": string(explain.Redirected),
		} {
			if got := connects(p, host); got != want {
				t.Errorf("%q: %s: %s, want %s", own, host, got, want)
			}
		}
		if !slices.ContainsFunc(l.said, func(said string) bool {
			return strings.HasPrefix(said, "refuse TLSRoute other/r24 []: connections for "+longName(24, 0)+
				" and 15 more hostnames are left out")
		}) {
			t.Errorf("%q: the route that is left out does not say so: %.2000q", own, l.said)
		}
		if refused := l.beyondListenerBytes(); !slices.Contains(refused, "TLSRoute other/own []") {
			t.Errorf("%q: it is reported by %q", own, refused)
		}
	}
}

// TestAGuardedListenerIsNotLeftOut has a listener that asks for client certificates, younger than more hostnames of TLSRoutes of its
// namespace than there is room for.
func TestAGuardedListenerIsNotLeftOut(t *testing.T) {
	t.Parallel()
	objects := strings.ReplaceAll(connectionsOfAnother(25), "namespace: other", "namespace: tenant")
	objects = strings.Replace(objects, "namespace: tenant, name: set, generation: 1}",
		`namespace: tenant, name: set, generation: 1, creationTimestamp: "2026-02-01T00:00:00Z"}`, 1)
	p, _ := withListenerBytes(t, 20_000, base+objects+
		ofTenant("tls: {clientValidation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}]}}"))
	if got := connects(p, "admin.corp.example"); got != string(explain.Closed) && got != "404" {
		t.Errorf("admin.corp.example: %s", got)
	}
	port, _ := p.graph.servedPort(nil, httpsPort)
	if !slices.ContainsFunc(port.Chains, func(c ir.Chain) bool { return c.ServerName == "admin.corp.example" }) {
		t.Error("the port has no chain for admin.corp.example")
	}
}

// TestAPolicyOfAnotherClosesNoListener has routes at a listener of another namespace, whose policy grows. What they take is charged to
// their namespace, but its own listener, in no way concerned, is served.
func TestAPolicyOfAnotherClosesNoListener(t *testing.T) {
	t.Parallel()
	late := strings.Replace(another, "name: set, generation: 1}", `name: set, generation: 1, creationTimestamp: "2026-03-01T00:00:00Z"}`, 1)
	if late == another {
		t.Fatal("the listener is not younger than the routes")
	}
	p, l := withListenerBytes(t, 300_000, base+connectionsOfAnother(2)+late)
	put(t, p, certificateNames(64))
	p.config.step()
	if got := connects(p, "late.example"); got != "404" {
		t.Errorf("late.example: %s", got)
	}
	if refused := l.beyondListenerBytes(); !slices.Contains(refused, "TLSRoute other/r1 []") {
		t.Errorf("it is reported by %q", refused)
	}
}
