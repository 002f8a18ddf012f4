package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/xds"
)

// clusterOf is the cluster of a Service at Gateway infra/web as it is now.
func clusterOf(t *testing.T, p *Pipeline, service string) xds.ClusterVersion {
	t.Helper()
	for _, user := range p.graph.clusters.Keys(nil) {
		if user.Gateway == "infra/web" && user.Backend.Object.Name == service {
			current, _ := p.graph.clusters.Get(nil, user)
			return xds.ClusterVersion{Name: user.Backend.String(), Version: version(current.resource)}
		}
	}
	t.Fatalf("%s has no cluster", service)
	return xds.ClusterVersion{}
}

// correct changes the cluster of a Service.
func correct(service string) string {
	return fmt.Sprintf(`
kind: XBackendTrafficPolicy
metadata: {namespace: infra, name: budget, generation: 1}
spec:
  targetRefs: [{group: "", kind: Service, name: %s}]
  retryConstraint: {budget: {percent: 30}}
`, service)
}

// The proxy refuses the cluster of a route, so what it refuses of the host is the route. The cluster is kept, so that the route is tried
// again when the cluster is another one.
func TestARouteWhoseClusterIsRefusedIsTriedAgainWithAnotherCluster(t *testing.T) {
	t.Parallel()
	l := &recorder{live: true}
	p := l.plane(t)
	put(t, p, aRoute(1, "/good"))
	p.config.step()
	put(t, p, strings.Replace(aRoute(2, "/bad"), "name: v1", "name: v2", 1))
	p.config.step()
	l.live = false
	nackHost(p, "infra/web", func(r *xds.NACK) { r.Cluster = clusterOf(t, p, "v2") })
	p.config.step()
	l.serves(t, p, "infra/web", "/good")
	// Another replica has the same in quarantine.
	const route = "HTTPRoute/infra/r"
	p.Offered("other", route+"@infra/web", p.quarantine.RejectedDigest(route, "infra/web"), l.offers[route+"@infra/web"])
	p.config.step()
	l.serves(t, p, "infra/web", "/good")
	put(t, p, correct("v2"))
	p.config.step()
	p.config.step()
	l.serves(t, p, "infra/web", "/bad")
	if routes := p.quarantine.Size().Routes; routes > 0 {
		t.Errorf("%d routes are in quarantine", routes)
	}
}

// TestClosedHostsAreTriedAgainWithAnotherCluster has proxies reject more hosts at once than have their details kept, because of a cluster:
// for what their rules share, and for routes. A NACK that comes after the cluster has changed is void.
func TestClosedHostsAreTriedAgainWithAnotherCluster(t *testing.T) {
	t.Parallel()
	const count = 1100
	l := &recorder{}
	p := l.plane(t)
	for i := range count {
		put(t, p, routeFor(fmt.Sprintf("r%d", i), 1, fmt.Sprintf("h%d.example", i), "/"))
	}
	p.config.step()
	rejected, bad := map[string]string{}, clusterOf(t, p, "v1")
	for i := range count {
		domain := fmt.Sprintf("h%d.example", i)
		rejected[domain] = hostVersion(p, domain)
		nackDomain(p, domain, func(r *xds.NACK) {
			if r.Cluster, r.Filters = bad, i%2 == 0; !r.Filters {
				r.Routes = []string{fmt.Sprintf("HTTPRoute/infra/r%d/0/0", i)}
			}
		})
	}
	p.config.step()
	p.config.step()
	for domain, before := range rejected {
		if hostVersion(p, domain) == before {
			t.Fatalf("host %s is as it was", domain)
		}
	}
	for key, content := range l.offers {
		p.Offered("other", key, rejected[strings.TrimPrefix(key, "host@infra/web/80|")], content)
	}
	put(t, p, correct("v1"))
	p.config.step()
	p.config.step()
	nackDomain(p, "h0.example", func(r *xds.NACK) { r.Filters, r.Cluster = true, bad })
	p.config.step()
	p.config.step()
	for domain, before := range rejected {
		if got := hostVersion(p, domain); got != before {
			t.Fatalf("host %s has version %s, want %s", domain, got, before)
		}
	}
	if size := p.quarantine.Size(); size.Routes+size.Hosts > 0 {
		t.Errorf("in quarantine are %+v", size)
	}
}

// TestARouteIsTriedAgainWithAClusterOfAPolicyAbove has proxies reject a route because of a cluster that only a policy on the Gateway names.
func TestARouteIsTriedAgainWithAClusterOfAPolicyAbove(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	policy := func(name, kind, target, settings string) string {
		return fmt.Sprintf(`
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: %s, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: %s, name: %s}]
  %s
---`, name, kind, target, settings)
	}
	put(t, p, policy("asks", "Gateway", "web", "extAuth: {grpc: {backendRef: {name: v2, port: 80}}}")+
		policy("own", "HTTPRoute", "a", `cors: {allowOrigins: ["https://a.example"]}`)+routeFor("a", 1, "a.example", "/"))
	p.config.step()
	rejected := hostVersion(p, "a.example")
	nackDomain(p, "a.example", func(r *xds.NACK) {
		r.Routes, r.Cluster = []string{"HTTPRoute/infra/a/0/0"}, clusterOf(t, p, "v2")
	})
	p.config.step()
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Filters, r.Cluster = true, clusterOf(t, p, "v2") })
	p.config.step()
	p.config.step()
	if got := hostVersion(p, "a.example"); got != "closed" {
		t.Fatalf("the host has version %s", got)
	}
	put(t, p, correct("v2"))
	p.config.step()
	p.config.step()
	if got := hostVersion(p, "a.example"); got != rejected {
		t.Errorf("the host has version %s, want %s", got, rejected)
	}
}

// TestFiltersAreTriedAgainWithAnotherCluster has proxies reject the filters of a listener because of a cluster.
func TestFiltersAreTriedAgainWithAnotherCluster(t *testing.T) {
	t.Parallel()
	l := &recorder{}
	p := l.plane(t)
	put(t, p, `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 2}
spec:
  gatewayClassName: gatewright
  listeners:
  - name: http
    port: 80
    protocol: HTTP
    filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: v2, port: 80}}}]}
---`+routeFor("a", 1, "a.example", "/"))
	p.config.step()
	rejected := hostVersion(p, "a.example")
	nackDomain(p, "a.example", func(r *xds.NACK) { r.Filters, r.Cluster = true, clusterOf(t, p, "v2") })
	p.config.step()
	if got := hostVersion(p, "a.example"); got == rejected {
		t.Fatal("the host is as it was")
	}
	put(t, p, correct("v2"))
	p.config.step()
	p.config.step()
	if got := hostVersion(p, "a.example"); got != rejected {
		t.Errorf("the host has version %s, want %s", got, rejected)
	}
}

// TestAReplicaThatHasOnlyOffersTriesAgain has a replica that knows of the NACKs only from the offers of another one.
func TestAReplicaThatHasOnlyOffersTriesAgain(t *testing.T) {
	t.Parallel()
	old, fresh := &recorder{}, &recorder{}
	first, second := old.plane(t), fresh.plane(t)
	both := []*Pipeline{first, second}
	for _, p := range both {
		put(t, p, routeFor("a", 1, "a.example", "/")+"---"+routeFor("b", 1, "b.example", "/"))
		p.config.step()
	}
	rejected, bad := map[string]string{}, clusterOf(t, first, "v1")
	for _, domain := range []string{"a.example", "b.example"} {
		rejected[domain] = hostVersion(first, domain)
	}
	nackDomain(first, "a.example", func(r *xds.NACK) { r.Filters, r.Cluster = true, bad })
	nackDomain(first, "b.example", func(r *xds.NACK) { r.Routes, r.Cluster = []string{"HTTPRoute/infra/b/0/0"}, bad })
	first.config.step()
	first.config.step()
	offer := func() {
		second.Offered("first", "host@infra/web/80|a.example", rejected["a.example"], old.offers["host@infra/web/80|a.example"])
		const route = "HTTPRoute/infra/b"
		if content := old.offers[route+"@infra/web"]; content != nil {
			second.Offered("first", route+"@infra/web", first.quarantine.RejectedDigest(route, "infra/web"), content)
		}
		second.config.step()
		second.config.step()
	}
	offer()
	for domain, before := range rejected {
		if a, b := hostVersion(first, domain), hostVersion(second, domain); a == before || a != b {
			t.Errorf("replicas have versions %s and %s of host %s", a, b, domain)
		}
	}
	// The other replica has not seen the change yet, and is followed anew.
	put(t, second, correct("v1"))
	second.config.step()
	second.config.step()
	offer()
	put(t, first, correct("v1"))
	first.config.step()
	first.config.step()
	for domain, want := range rejected {
		if a, b := hostVersion(first, domain), hostVersion(second, domain); a != want || b != want {
			t.Errorf("replicas have versions %s and %s of host %s, want %s", a, b, domain, want)
		}
	}
}
