package xds_test

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

const scopeURL = "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration"

// scoped is a proxy whose listener looks for virtual hosts in scopes.
func scoped(t *testing.T, j journal) (*control, *proxy) {
	t.Helper()
	c := start(t, options{observer: j})
	l := listener(t, "l1", "")
	l.Scopes = true
	state := c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), table(t, group, "t1"), host(t, "a.example", ""), host(t, "*.example", ""), l})[group]
	p := c.connect(group)
	p.subscribe(clusterURL)
	p.expect(clusterURL, []string{"c1"}, nil)
	p.subscribe(listenerURL)
	p.expect(listenerURL, []string{"l1"}, nil)
	j.expect(t, "connected "+group)
	j.nothing(t)
	p.subscribe(scopeURL)
	p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
	j.expect(t, "holds "+state)
	return c, p
}

func TestAHostThatChangesIsSentAlone(t *testing.T) {
	t.Parallel()
	j := make(journal, 100)
	c, p := scoped(t, j)
	added := c.cache.Apply([]xds.Change{host(t, "b.example", "")})[group]
	response := p.expect(scopeURL, []string{"t1|b.example"}, nil)
	message := &routev3.ScopedRouteConfiguration{}
	if err := response.GetResources()[0].GetResource().UnmarshalTo(message); err != nil {
		t.Fatal(err)
	}
	inside := message.GetRouteConfiguration()
	if message.GetKey().GetFragments()[0].GetStringKey() != "t1|b.example" || inside.GetName() != "t1" || len(inside.GetVirtualHosts()) != 1 ||
		inside.GetVirtualHosts()[0].GetDomains()[0] != "b.example" {
		t.Errorf("got %v", message)
	}
	j.expect(t, "holds "+added)
	state := c.cache.Apply([]xds.Change{host(t, "*.other", ""), removed(host(t, "b.example", ""))})[group]
	p.expect(scopeURL, []string{"t1|*"}, nil)
	j.expect(t, "holds "+state)
	p.expect(scopeURL, nil, []string{"t1|b.example"})
}

func TestScopesComeBeforeTheListenerThatAsksForThemAnew(t *testing.T) {
	t.Parallel()
	j := make(journal, 100)
	c, p := scoped(t, j)
	changed := listener(t, "l1", "changed")
	changed.Scopes = true
	c.cache.Apply([]xds.Change{host(t, "b.example", ""), changed})
	scopes := p.receive()
	check(t, scopes, scopeURL, []string{"t1|b.example"}, nil)
	p.hearsNothing()
	p.acknowledge(scopes)
	p.expect(listenerURL, []string{"l1"}, nil)
}

func TestTheRouteThatSpoilsAScopeIsFound(t *testing.T) {
	t.Parallel()
	j := make(journal, 100)
	c, p := scoped(t, j)
	message := &routev3.VirtualHost{Name: "b", Domains: []string{"b.example"}, Routes: []*routev3.Route{{Name: "HTTPRoute/shop/good/0"}, {Name: "HTTPRoute/shop/bad/0"}}}
	c.cache.Apply([]xds.Change{{Group: group, Type: xds.VirtualHost, Table: "t1", Name: "b.example", Resource: resource(t, message)}, host(t, "c.example", "")})
	both := p.receive()
	check(t, both, scopeURL, []string{"t1|b.example", "t1|c.example"}, nil)
	p.refuse(both, "no such thing")
	one := p.receive()
	check(t, one, scopeURL, []string{"t1|b.example"}, nil)
	p.refuse(one, "no such thing")
	p.expect(scopeURL, []string{"t1|c.example"}, nil)
	judgeProbes(t, p)
	j.expect(t, "refused virtual_host t1 b.example [HTTPRoute/shop/bad/0]: no such thing")
}

func TestAProxyThatAsksAgainForAllScopesIsGivenThem(t *testing.T) {
	t.Parallel()
	j := make(journal, 100)
	_, p := scoped(t, j)
	p.subscribe(scopeURL, "*")
	p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
	p.subscribe(scopeURL, "*")
	p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
}
